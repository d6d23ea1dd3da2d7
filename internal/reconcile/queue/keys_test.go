package queue

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

func keyOf(controller, parent string) Key {
	return Key{controller, types.NamespacedName{Namespace: "ns", Name: parent}}
}
func manyKeys(controller string, n int) []Key {
	keys := make([]Key, n)
	for i := range keys {
		keys[i] = keyOf(controller, fmt.Sprint(i))
	}
	return keys
}

// take empties the queue and returns what was in it, "CONTROLLER/PARENT".
func take(queue Queue) []string {
	out := []string{}
	for queue.Len() > 0 {
		key, _ := queue.Get()
		out = append(out, key.Controller+"/"+key.Parent.Name)
		queue.Done(key)
	}
	return out
}
