package controllers

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/reconcile/queue"
)

func keyOf(controller, parent string) queue.Key {
	return queue.Key{Controller: controller, Parent: types.NamespacedName{Namespace: "ns", Name: parent}}
}

// take empties the queue and returns what was in it, "CONTROLLER/PARENT".
func take(q queue.Queue) []string {
	out := []string{}
	for q.Len() > 0 {
		key, _ := q.Get()
		out = append(out, key.Controller+"/"+key.Parent.Name)
		q.Done(key)
	}
	return out
}

func manyKeys(controller string, n int) []queue.Key {
	keys := make([]queue.Key, n)
	for i := range keys {
		keys[i] = keyOf(controller, fmt.Sprint(i))
	}
	return keys
}
