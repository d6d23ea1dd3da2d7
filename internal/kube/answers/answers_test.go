package answers

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestNamespaceThatIsMissingIsToldFromOneThatIsRefused(t *testing.T) {
	namespaces := schema.GroupResource{Resource: "namespaces"}
	for err, want := range map[error]bool{
		apierrors.NewNotFound(namespaces, "x"):                                   true,
		apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "x"): false,
		apierrors.NewForbidden(namespaces, "x", errors.New("quota")):             false,
		errors.New("no answer"):                                                  false,
	} {
		if got := MissingNamespace(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
	if got := Details(errors.New("no answer")); len(got.Causes) > 0 {
		t.Errorf("details %v of an answer that nobody gave", got)
	}
}
