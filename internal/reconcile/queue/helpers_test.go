package queue

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 20*time.Second, true,
		func(context.Context) (bool, error) { return condition(), nil }); err != nil {
		t.Fatalf("never: %s", what)
	}
}

func works(busy []Work) []string {
	out := []string{}
	for _, w := range busy {
		out = append(out, w.String())
	}
	slices.Sort(out)
	return out
}

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

// take empties the queue and returns its keys as "CONTROLLER/PARENT".
func take(queue Queue) []string {
	out := []string{}
	for queue.Len() > 0 {
		key, _ := queue.Get()
		out = append(out, key.Controller+"/"+key.Parent.Name)
		queue.Done(key)
	}
	return out
}
