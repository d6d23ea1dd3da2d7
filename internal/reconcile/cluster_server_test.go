package reconcile_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// What tests add to the API server in memory: it records requests and refuses some of them.

// newServer returns the API server of a cluster.
func (c *cluster) newServer() *memserver.Server {
	s := memserver.New(c.clock, kindOf)
	s.Version, s.Before, s.Validate, s.Admit = 100, c.note, c.validate, c.mutate
	return s
}

// note records a request and returns its error.
func (c *cluster) note(verb string, at request.Location) error {
	text := verb + " " + at.Resource.Resource + " " + at.Name
	if c.user != "" {
		text = c.user + ": " + text
	}
	c.requests = append(c.requests, text)
	if c.during != nil {
		c.during()
	}
	return c.refuse[text]
}

// validate checks the messages of conditions.
func (c *cluster) validate(at request.Location, content map[string]any, _ string) error {
	state, _ := content["status"].(map[string]any)
	conditions, _ := state["conditions"].([]any)
	for _, each := range conditions {
		condition, _ := each.(map[string]any)
		if condition["type"] == v1.ConditionReady {
			c.wantTold(fmt.Sprintf("condition %s of %s", condition["type"], at.Name), text(condition, "message"))
		}
		if most, bounded := c.longest[at.Resource.Resource]; bounded && len(text(condition, "message")) > most {
			return answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "status.conditions[0].message: Too long")
		}
	}
	return nil
}

// mutate sets the time of managedFields by the clock of the server, and calls the webhook.
func (c *cluster) mutate(o *unstructured.Unstructured, manager string) {
	if c.ahead != 0 {
		now, all := metav1.NewTime(c.clock.Now().Add(c.ahead)), o.GetManagedFields()
		for i := range all {
			if all[i].Manager == manager {
				all[i].Time = &now
			}
		}
		o.SetManagedFields(all)
	}
	if c.admit != nil {
		c.admit(o)
	}
}

// Short names for answers of the API server, and for what it does to fields.
var (
	notFound = memserver.NotFound
	conflict = memserver.Conflict

	applied   = memserver.Usual.Applied
	holdings  = memserver.Holdings
	deprive   = memserver.Deprive
	differing = memserver.Usual.Differing
	fieldsOf  = memserver.Usual.FieldsOf
	held      = memserver.Usual.Held
	own       = memserver.Own
)

// unserved is the answer for a resource that the server does not serve.
func unserved(at request.Location) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", at.Resource.GroupResource(), at.Name, "404 page not found", 0, true)
}

func (c *cluster) Get(ctx context.Context, at request.Location) (*object.Object, error) {
	if at.Resource == accounts || at.Resource == running.Namespaces {
		return nil, c.named(at)
	}
	return c.Server.Get(ctx, at)
}

// Apply is that of the server.
func (c *cluster) Apply(ctx context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
	o, err := c.Server.Apply(ctx, at, body, manager)
	if c.applied != nil {
		c.applied()
	}
	return o, err
}

// GetDated is Get with the Date of the answer.
func (c *cluster) GetDated(ctx context.Context, at request.Location) (*object.Object, time.Time, error) {
	o, err := c.Get(ctx, at)
	if c.dateless {
		return o, time.Time{}, err
	}
	return o, c.clock.Now().Add(c.ahead).Truncate(time.Second), err
}

// accounts are ServiceAccounts.
var accounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}

// named reports whether an object that a spec names exists: all do but those in lacks. It is not recorded as a request.
func (c *cluster) named(at request.Location) error {
	what := strings.Join(strings.Fields(at.Resource.Resource+" "+at.Namespace+" "+at.Name), " ")
	if c.lacks[what] {
		return notFound(at)
	}
	return c.refuse["ask "+what]
}

// kindOf is the kind of a resource; that of TemplateControllers has a status, too.
func kindOf(resource schema.GroupResource) kind.Kind {
	for _, kind := range fakeKinds {
		if kind.Resource.GroupResource() == resource {
			return kind
		}
	}
	return kind.Kind{Resource: resource.WithVersion(""), Custom: true, Status: &kind.StatusSchema{}}
}

// text returns the text under a key, or "".
func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

// as returns the client of a user. Its recorded requests begin with the name of the account.
func (c *cluster) as(user string) running.Client {
	if user == "" {
		return c
	}
	return reconciletest.AsUser(c, strings.TrimPrefix(user, spec.AccountPrefix), func(user string) { c.user = user })
}

// Allowed reports what is not in lacks. It is not recorded as a request.
func (c *cluster) Allowed(_ context.Context, right request.Right) (bool, error) {
	resource := right.Resource.Resource
	if right.Subresource != "" {
		resource += "/" + right.Subresource
	}
	text := strings.TrimSpace(strings.Join([]string{c.user, right.Verb, resource, right.Namespace}, " "))
	c.asked = append(c.asked, text)
	return !c.lacks[text], c.refuse["ask "+text]
}
