package reconciletest

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
)

// ErrBroken and ErrForbidden are errors of the API server: it fails, or listing Jobs is forbidden.
var (
	ErrBroken    = memserver.Refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, "no")
	ErrForbidden = memserver.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `jobs.batch is forbidden: User "system:serviceaccount:templater-system:templater" cannot list resource "jobs" in API group "batch" at the cluster scope`)
)

// Denial returns the error for a user without a permission.
func Denial(user, verb, resource, where string) error {
	return memserver.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden,
		fmt.Sprintf(`%s "x" is forbidden: User %q cannot %s resource %q in API group "" %s`, resource, user, verb, resource, where))
}

// Unserved returns the error for a resource that the API server does not serve.
func Unserved(at request.Location) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", at.Resource.GroupResource(), at.Name, "404 page not found", 0, true)
}

// FailedCache returns a cache whose initial list failed.
func FailedCache(t *testing.T, want watch.Want, err error) *watch.Cache {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	m := watch.NewManager(ctx, func(string) watch.Client { return refusing{err} }, nobody{})
	t.Cleanup(func() { cancel(); m.Wait() })
	caches, setErr := m.Set("test", []watch.Want{want})
	if setErr != nil {
		t.Fatal(setErr)
	}
	Eventually(t, "the list fails", func() bool { return caches[want].Err() != nil })
	return caches[want]
}

// refusing fails each LIST and WATCH request.
type refusing struct{ err error }

func (r refusing) List(context.Context, schema.GroupVersionResource, string, metav1.ListOptions) (runtime.Object, error) {
	return nil, r.err
}

func (r refusing) Watch(context.Context, schema.GroupVersionResource, string, metav1.ListOptions) (apiwatch.Interface, error) {
	return nil, r.err
}

func (refusing) MayWatch(context.Context, schema.GroupVersionResource, string, string) (bool, error) {
	return true, nil
}

type nobody struct{}

func (nobody) Changed(watch.Want, watch.Event) {}

func (nobody) StateChanged(watch.Want) {}

// Eventually waits until a condition is true, and fails the test if it never is.
func Eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 20*time.Second, true,
		func(context.Context) (bool, error) { return condition(), nil }); err != nil {
		t.Fatalf("never: %s", what)
	}
}
