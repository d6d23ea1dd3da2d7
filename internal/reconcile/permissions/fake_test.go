package permissions

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

const secret = "s3cr3t"

// robot is the user of most subjects.
const robot = spec.AccountPrefix + "team:robot"

// app is a kind of parents.
var app = kind.Kind{Kind: "App", Namespaced: true, Custom: true, Status: &kind.StatusSchema{}, Resource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "apps"}}

// answer builds an API server error.
var answer = memserver.Refusal

// denial returns the error for a user without a permission.
func denial(user, verb, resource, where string) error {
	return answer(http.StatusForbidden, metav1.StatusReasonForbidden,
		fmt.Sprintf(`%s "x" is forbidden: User %q cannot %s resource %q in API group "" %s`, resource, user, verb, resource, where))
}

// server is a fake of the Reviewers of all users.
type server struct {
	clock  *clocktesting.FakePassiveClock
	lacks  map[string]bool  // "USER VERB RESOURCE NAMESPACE" for permissions, "RESOURCE NAMESPACE NAME" for objects
	fails  map[string]error // same keys, for requests that fail
	asked  []string         // reviewed permissions
	sought []string         // objects requested
	told   []string         // controllers passed to changed
}

func newServer(t *testing.T) *server {
	t.Helper()
	return &server{clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), lacks: map[string]bool{}, fails: map[string]error{}}
}

func (s *server) tracker() *Tracker {
	as := func(user string) Reviewer { return &reviewer{s, strings.TrimPrefix(user, spec.AccountPrefix)} }
	return NewTracker(as, s.clock, nil, func(controller string) { s.told = append(s.told, controller) })
}

// reviewer is the Reviewer of one user.
type reviewer struct {
	*server
	user string
}

func (r *reviewer) Allowed(_ context.Context, right request.Permission) (bool, error) {
	resource := right.Resource.Resource
	if right.Subresource != "" {
		resource += "/" + right.Subresource
	}
	text := strings.TrimSpace(strings.Join([]string{r.user, right.Verb, resource, right.Namespace}, " "))
	r.asked = append(r.asked, text)
	return !r.lacks[text], r.fails[text]
}

func (r *reviewer) Get(_ context.Context, at request.Location) (*object.Object, error) {
	text := strings.Join(strings.Fields(at.Resource.Resource+" "+at.Namespace+" "+at.Name), " ")
	r.sought = append(r.sought, text)
	if r.lacks[text] {
		return nil, apierrors.NewNotFound(at.Resource.GroupResource(), at.Name)
	}
	return nil, r.fails[text]
}
