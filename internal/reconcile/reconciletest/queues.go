package reconciletest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// KeyOf returns the key of a parent in namespace ns.
func KeyOf(controller, parent string) queue.Key {
	return queue.Key{Controller: controller, Parent: types.NamespacedName{Namespace: "ns", Name: parent}}
}

// ManyKeys returns n keys.
func ManyKeys(controller string, n int) []queue.Key {
	keys := make([]queue.Key, n)
	for i := range keys {
		keys[i] = KeyOf(controller, fmt.Sprint(i))
	}
	return keys
}

// Take empties the queue and returns its keys as "CONTROLLER/PARENT".
func Take(q queue.Queue) []string {
	out := []string{}
	for q.Len() > 0 {
		key, _ := q.Get()
		out = append(out, key.Controller+"/"+key.Parent.Name)
		q.Done(key)
	}
	return out
}

// InLine queues a parent behind others that have just stopped matching.
func InLine(p *queue.UnmatchedParentLimiter, key queue.Key) {
	for _, other := range ManyKeys(key.Controller, queue.DepartureBurst+1) {
		p.Wait(other, 1)
	}
	p.Wait(key, 1)
}
