package announce

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/reconcile/queue"
)

func keyOf(controller, parent string) queue.Key {
	return queue.Key{Controller: controller, Parent: types.NamespacedName{Namespace: "ns", Name: parent}}
}
