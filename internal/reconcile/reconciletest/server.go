package reconciletest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/crd"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Server is an in-memory API server with the kinds of Kinds. It records requests, and fails according to its Faults.
type Server struct {
	*memserver.Server
	Faults
	Recorded

	T     testing.TB
	Clock *clocktesting.FakePassiveClock
	Logs  Logs // of Pods

	user string // user of the current request
}

// Faults injects errors into a Server.
type Faults struct {
	Refuse     map[string]error                 // errors of requests: "VERB RESOURCE NAME", prefixed by "USER: " if there is one, "kind KIND", "ask PERMISSION"
	Lacks      map[string]bool                  // missing permissions, "USER VERB RESOURCE NAMESPACE", and missing objects that specs refer to, "RESOURCE NAMESPACE NAME"
	During     func()                           // called during each request
	AfterApply func()                           // called after each apply, before its response arrives
	Ahead      time.Duration                    // how far API server time is ahead: in the time of managedFields, and in the Date of responses
	Dateless   bool                             // responses have no Date
	Longest    map[string]int                   // maximum length of a condition message, by resource
	Webhook    func(*unstructured.Unstructured) // a mutating webhook, which does not change managedFields
}

// Recorded holds the requests that a Server received.
type Recorded struct {
	Requests  []string // "VERB RESOURCE NAME", prefixed by "USER: " if there is one
	Revisions []string // requests for TemplateRevisions, which are not in Requests: "VERB RESOURCE NAME"
	Events    []string
	EventsAs  []string // users that publish Events
	Asked     []string // permissions: "USER VERB RESOURCE NAMESPACE"
	Sought    []string // objects that specs refer to: "RESOURCE NAMESPACE NAME"
}

func newServer(t testing.TB) *Server {
	s := &Server{
		T: t, Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		Faults: Faults{Refuse: map[string]error{}, Lacks: map[string]bool{}},
	}
	s.Reset()
	return s
}

// Reset removes all objects and recorded requests.
func (s *Server) Reset() {
	s.Server, s.Recorded = memserver.New(s.Clock, kindOf), Recorded{}
	s.Version, s.Before, s.Validate, s.Admit = 100, s.note, s.validate, s.mutate
}

// note records a request and returns its error. Status updates of TemplateControllers are not recorded: they are
// debounced.
func (s *Server) note(verb string, at request.Location) error {
	text := verb + " " + at.Resource.Resource + " " + at.Name
	if (at.Resource == v1.Resource || at.Resource == v1.NamespacedResource) && verb == "status" {
		return s.Refuse[text]
	}
	deleted := at.Resource.Group == v1.GroupVersion.Group && verb == "get" && s.Objects[at] == nil // asked before its revisions are deleted
	if at.Resource == v1.RevisionResource || deleted {
		s.Revisions = append(s.Revisions, text)
		return s.Refuse[text]
	}
	if s.user != "" {
		text = s.user + ": " + text
	}
	s.Requests = append(s.Requests, text)
	if s.During != nil {
		s.During()
	}
	return s.Refuse[text]
}

// templater is the field manager for the status of TemplateControllers.
const templater = "templater"

// validate checks the messages of conditions.
func (s *Server) validate(at request.Location, content map[string]any, manager string) error {
	state, _ := content["status"].(map[string]any)
	conditions, _ := state["conditions"].([]any)
	for _, each := range conditions {
		condition, _ := each.(map[string]any)
		message, _ := condition["message"].(string)
		if manager == templater || condition["type"] == v1.ConditionReady {
			s.wantLine(fmt.Sprintf("condition %s of %s", condition["type"], at.Name), message)
		}
		if most, bounded := s.Longest[at.Resource.Resource]; bounded && len(message) > most {
			return memserver.Refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "status.conditions[0].message: Too long")
		}
	}
	return nil
}

// wantLine checks that a message is one line of text and not too long.
func (s *Server) wantLine(where, message string) {
	if message != object.Line(message, problem.MaxMessageLength) {
		s.T.Errorf("%s: the message is not a single line, or is too long: %.300q", where, message)
	}
}

// mutate sets the time of managedFields to the API server time, and calls the webhook.
func (s *Server) mutate(o *unstructured.Unstructured, manager string) {
	if s.Ahead != 0 {
		now, all := metav1.NewTime(s.Clock.Now().Add(s.Ahead)), o.GetManagedFields()
		for i := range all {
			if all[i].Manager == manager {
				all[i].Time = &now
			}
		}
		o.SetManagedFields(all)
	}
	if s.Webhook != nil {
		s.Webhook(o)
	}
}

// Accounts are ServiceAccounts.
var Accounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}

// Get returns an object. Service accounts and namespaces that specs refer to exist unless they are in Lacks; these
// requests are not recorded in Requests.
func (s *Server) Get(ctx context.Context, at request.Location) (*object.Object, error) {
	if at.Resource != Accounts && at.Resource != controller.Namespaces {
		return s.Server.Get(ctx, at)
	}
	what := strings.Join(strings.Fields(at.Resource.Resource+" "+at.Namespace+" "+at.Name), " ")
	s.Sought = append(s.Sought, what)
	if s.Lacks[what] {
		return nil, memserver.NotFound(at)
	}
	return nil, s.Refuse["ask "+what]
}

// GetDated is Get with the Date of the response.
func (s *Server) GetDated(ctx context.Context, at request.Location) (*object.Object, time.Time, error) {
	o, err := s.Get(ctx, at)
	if s.Dateless {
		return o, time.Time{}, err
	}
	return o, s.Clock.Now().Add(s.Ahead).Truncate(time.Second), err
}

// Apply applies an object, then calls AfterApply.
func (s *Server) Apply(ctx context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
	o, err := s.Server.Apply(ctx, at, body, manager)
	if s.AfterApply != nil {
		s.AfterApply()
	}
	return o, err
}

// As returns the client of a user. Its recorded requests are prefixed by the name of the service account.
func (s *Server) As(user string) controller.Client {
	if user == "" {
		return s
	}
	return AsUser(s, strings.TrimPrefix(user, spec.AccountPrefix), s.SetUser)
}

// SetUser sets the user of the current request.
func (s *Server) SetUser(user string) { s.user = user }

// Allowed reports whether a permission is not in Lacks. It is not recorded as a request.
func (s *Server) Allowed(_ context.Context, right request.Permission) (bool, error) {
	resource := right.Resource.Resource
	if right.Subresource != "" {
		resource += "/" + right.Subresource
	}
	text := strings.TrimSpace(strings.Join([]string{s.user, right.Verb, resource, right.Namespace}, " "))
	s.Asked = append(s.Asked, text)
	return !s.Lacks[text], s.Refuse["ask "+text]
}

// Definitions returns the CustomResourceDefinitions of a kind.
func (s *Server) Definitions(gk schema.GroupKind) (found []*object.Object) {
	for at, o := range s.Objects {
		if at.Resource != crd.Resource {
			continue
		}
		if definition, err := object.From(o.Object); err == nil && kind.Defined(definition) == gk {
			found = append(found, definition)
		}
	}
	return found
}

// Resolve returns a kind of Kinds. It fails if Refuse has "kind KIND".
func (s *Server) Resolve(gvk schema.GroupVersionKind) (kind.Kind, error) {
	found, ok := Kinds[gvk.GroupKind()]
	if !ok {
		return kind.Kind{}, &kind.NotFoundError{GVK: gvk}
	}
	if err := s.Refuse["kind "+gvk.Kind]; err != nil {
		return kind.Kind{}, err
	}
	found.Resource.Version = gvk.Version
	return found, nil
}

// Announce publishes an Event immediately. It fails if Refuse has "create events NAMESPACE".
func (s *Server) Announce(what request.Announcement) {
	if !what.Wanted() {
		return
	}
	s.wantLine("an Event", what.Message)
	s.EventsAs = append(s.EventsAs, what.As)
	err := s.Refuse["create events "+request.EventNamespace(what.About)]
	if err == nil {
		s.Events = append(s.Events, fmt.Sprintf("%s %s %s: %s", what.About.Name(), what.Type, what.Reason, what.Message))
	}
	what.Answered(err)
}
