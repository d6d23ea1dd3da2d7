package diff

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/cli/snapshot"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Server sends dry runs. It is implemented by *kube.Client.
type Server interface {
	TryApply(ctx context.Context, at request.Location, body []byte, manager string) (*object.Object, error)
	Allowed(ctx context.Context, right request.Permission) (bool, error)
}

// tries sends dry runs, as far as the user has permission. It is safe for concurrent use.
type tries struct {
	source  *snapshot.Source
	server  Server
	manager string

	mu        sync.Mutex
	forbidden map[place]int // writes without a dry run
}

// place is a resource and namespace for which the user can lack permission.
type place struct {
	resource  schema.GroupResource
	namespace string
}

// difference is an object to be changed.
type difference struct {
	live        *object.Object // nil if it does not exist
	was, wanted simulate.Child // Wanted is nil if the templates do not render the object
	effect      effect
	early       bool // its namespace or kind does not exist yet, so there is no dry run
}

// change returns the change for a difference; nil = none after all.
func (t *tries) change(ctx context.Context, d difference) (*Change, error) {
	content, entry := d.wanted.Wanted, d.wanted.Entry
	var live map[string]any
	if d.live != nil {
		live = simulate.Public(d.live.Content())
	}
	if content == nil {
		content, entry = live, d.was.Entry
	}
	out := changeOf(d.effect.verb, entry, content)
	switch out.Verb {
	case Delete, Unknown, Orphan:
		return &out, nil
	case Outdated:
		out.Diff = diffOf(out, d.was.Wanted, d.wanted.Wanted)
		return &out, nil
	case Create, Update, Recreate:
	}
	after := d.wanted.Wanted
	if live != nil { // applied by the server in a dry run
		after = simulate.Map(applied(live, d.was.Wanted, after))
	}
	if out.Verb != Recreate {
		tried, err := t.try(ctx, &out, d)
		if err != nil {
			return nil, err
		}
		if tried != nil {
			after = simulate.Public(tried.Content())
		}
	}
	if out.Verb == Recreate { // try may have found that
		delete(after, "status")
		delete(live, "status")
	}
	if out.Verb == Update && out.Refused == "" && simulate.Same(live, after) {
		return nil, nil //nolint:nilnil // different text, same object
	}
	out.Diff = diffOf(out, live, after)
	return &out, nil
}

// try sends a dry run, and returns the resulting object; nil = unknown.
func (t *tries) try(ctx context.Context, c *Change, d difference) (*object.Object, error) {
	if d.early {
		return nil, nil //nolint:nilnil // see above
	}
	where, err := t.source.Resource(schema.FromAPIVersionAndKind(c.APIVersion, c.Kind))
	if err != nil {
		return nil, err
	}
	if where == nil {
		c.Refused = fmt.Sprintf("the cluster does not have kind %s in %s: install it first", c.Kind, c.APIVersion)
		return nil, nil //nolint:nilnil // see above
	}
	at := place{where.Resource.GroupResource(), c.Namespace}
	if t.isForbidden(at, 1) {
		return nil, nil //nolint:nilnil // see above
	}
	field, value := "resourceVersion", "1" // fails if an object of that name exists
	if d.live != nil {
		field, value = "uid", string(d.live.UID())
	}
	after, err := t.server.TryApply(ctx, request.Location{Resource: where.Resource, Namespace: c.Namespace, Name: c.Name}, d.wanted.Body(field, value, d.live), t.manager)
	if err == nil {
		c.Tried = true
		return after, nil
	}
	if d.live != nil && problem.Immutable(err) && d.wanted.RecreatesImmutable() {
		c.Verb = Recreate
		return nil, nil //nolint:nilnil // there was no dry run of that
	}
	return nil, t.refuse(ctx, c, at, err)
}

// refuse returns why the server rejects a write. It returns an error if there was no dry run.
func (t *tries) refuse(ctx context.Context, c *Change, at place, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case apierrors.IsForbidden(err):
		if may, failure := t.mayWrite(ctx, at); failure != nil {
			return failure
		} else if !may {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.forbidden[at]++
			return nil
		}
	case c.Verb == Create && problem.NameTaken(err):
		c.Tried, c.Refused = true, "an object of this name already exists without the labels of this parent: rename the child in the template, or delete the other object"
		return nil
	case problem.Unanswered(err):
		return fmt.Errorf("try to write %s %s: %w", c.Kind, c.Name, err)
	}
	c.Tried, c.Refused = true, problem.PublicReason(err)
	return nil
}

// mayWrite reports whether the user has permission to write there.
func (t *tries) mayWrite(ctx context.Context, at place) (bool, error) {
	for _, verb := range []string{"patch", "create"} {
		may, err := t.server.Allowed(ctx, request.Permission{Verb: verb, Resource: at.resource, Namespace: at.namespace})
		if err != nil || !may {
			return false, err
		}
	}
	return true, nil
}

// isForbidden reports whether the user lacks permission to write there, and counts the write as skipped.
func (t *tries) isForbidden(at place, more int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.forbidden[at] == 0 {
		return false
	}
	t.forbidden[at] += more
	return true
}

// untried returns a note about writes without a dry run, or "".
func (t *tries) untried() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.forbidden) == 0 {
		return ""
	}
	var resources []string
	n := 0
	for at, count := range t.forbidden {
		n += count
		if !slices.Contains(resources, at.resource.String()) {
			resources = append(resources, at.resource.String())
		}
	}
	slices.Sort(resources)
	return fmt.Sprintf("%s compared without the API server, because you are not allowed to create and patch %s: defaults and rejections are not shown", problem.Count(n, "write is", "writes are"), strings.Join(resources, ", "))
}
