package workers

import (
	"context"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/templater-dev/templater/internal/reconcile/queue"
)

func keyOf(controller, parent string) queue.Key {
	return queue.Key{Controller: controller, Parent: types.NamespacedName{Namespace: "ns", Name: parent}}
}

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
