package preflight

import (
	"context"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// mostDryRuns is the maximum number of dry runs per parent. Further writes are not sent, and count as accepted.
const mostDryRuns = 100

// Verb is the kind of a write.
type Verb string

// The verbs. Mark only changes templater's metadata of an object. Status and Finalizers change the parent.
const (
	Create     Verb = "create"
	Update     Verb = "update"
	Mark       Verb = "mark"
	Delete     Verb = "delete"
	Status     Verb = "update the status of"
	Finalizers Verb = "update the finalizers of"
	// Replace is a deletion with a creation, neither of which was attempted.
	Replace Verb = "replace"
)

// Outcome is the result of a dry run.
type Outcome int

// The outcomes.
const (
	Accepted    Outcome = iota
	Unsent              // there were too many writes
	Unsupported         // a webhook does not support dry runs
	Conflict            // the object exists, or was changed concurrently
	Invalid             // 422, or the object does not match the schema
	Forbidden           // 403, but not by RBAC
	Denied              // a permission is missing
	Unanswered          // 429, 5xx, or no response
	Missing             // the namespace, kind or object does not exist
	Rejected            // another code
)

// Write is a write that a reconciliation attempted.
type Write struct {
	Verb    Verb
	At      request.Location
	What    string // "create Deployment default/web"
	Outcome Outcome
	Why     string // the error, without values of objects; "" if accepted
}

// partial reports whether the write changes a part of the parent.
func (w *Write) partial() bool { return w.Verb == Status || w.Verb == Finalizers }

// reason returns the reason of the problem that a rejected partial write causes.
func (w *Write) reason() string {
	if w.Verb == Status {
		return v1.ReasonStatusRejected
	}
	return v1.ReasonFinalizerRejected
}

// object returns the name of the object in messages.
func (w *Write) object() string {
	_, name, _ := strings.Cut(w.What, " ")
	return name
}

// part identifies what a write changes: an object or, if verb is Status or Finalizers, that part of it.
type part struct {
	resource schema.GroupResource // children may be written in several versions
	name     types.NamespacedName
	verb     Verb
}

// partOf returns what a write with that verb changes.
func partOf(at request.Location, verb Verb) part {
	out := part{resource: at.Resource.GroupResource(), name: types.NamespacedName{Namespace: at.Namespace, Name: at.Name}}
	if verb == Status || verb == Finalizers {
		out.verb = verb
	}
	return out
}

// outcomeOf returns the outcome of a dry run with this error.
func outcomeOf(err error) Outcome {
	switch code := request.Code(err); {
	case err == nil:
		return Accepted
	case request.DryRunUnsupported(err):
		return Unsupported
	case controller.Stale(err), problem.NameTaken(err):
		return Conflict
	case permissions.Denied(err):
		return Denied
	case request.Unserved(err), code == http.StatusNotFound:
		return Missing
	case problem.Unanswered(err), permissions.OwnerUnknown(err):
		return Unanswered
	case problem.SchemaMismatch(err), code == http.StatusUnprocessableEntity:
		return Invalid
	case apierrors.IsForbidden(err):
		return Forbidden
	}
	return Rejected
}

// recorder sends the writes of one reconciliation as dry runs, and records them.
type recorder struct {
	controller.Client // sends dry runs
	of                *controller.Controller
	writes            map[part]*Write
	order             []*Write // all writes
	sent, over        int
}

// try sends a dry run. If the server does not check the write, it returns assumed instead of the error.
func (r *recorder) try(w Write, content map[string]any, send, assumed func() (*object.Object, error)) (*object.Object, error) {
	k := r.kindOf(w.At)
	id := child.ID{Kind: k.GroupKind(), Name: partOf(w.At, w.Verb).name}
	if w.What = string(w.Verb) + " " + id.String(); w.Verb == Mark {
		w.What = "update " + id.String()
	}
	if r.sent == mostDryRuns {
		r.over++
		w.Outcome = Unsent
		r.add(w)
		return assumed()
	}
	r.sent++
	after, err := send()
	if w.Outcome = outcomeOf(err); err != nil {
		w.Why = r.why(&w, k, content, err)
	}
	r.add(w)
	if w.Outcome == Unsupported || request.MissingNamespace(err) && r.creates(w.At.Namespace) {
		return assumed()
	}
	return after, err
}

// add records a write. A write after a conflict replaces the one with the conflict; otherwise, the first error counts.
func (r *recorder) add(w Write) {
	before := r.writes[partOf(w.At, w.Verb)]
	switch {
	case before == nil:
		r.writes[partOf(w.At, w.Verb)] = &w
		r.order = append(r.order, &w)
	case before.Outcome == Conflict:
		before.Verb, before.Outcome, before.Why = w.Verb, w.Outcome, w.Why
	case w.Verb == Delete && before.Verb == Update && before.Outcome == Invalid: // updateStrategy.onImmutable
		*before = w
	case before.Outcome == Accepted, before.Outcome == Unsent:
		before.Outcome, before.Why = w.Outcome, w.Why
	}
}

// why describes the error of a write with that content.
func (r *recorder) why(w *Write, k kind.Kind, content map[string]any, err error) string {
	author := r.of.Author()
	switch err = author.About(err, content); {
	case w.Outcome == Unsupported:
		return request.AdmissionRefusal(err) + " does not support dry runs"
	case w.Verb == Status:
		return r.of.Rights.WhyNot(err, r.of.Rights.Claim(permissions.Status, k, w.At.Namespace))
	case w.Verb == Finalizers:
		return r.of.Rights.WhyNot(err, r.of.Rights.Claim(permissions.Holding, k, w.At.Namespace))
	}
	issue := r.of.Rights.Refusal(err, w.What, w.At.Namespace, k)
	issue.NameQuantity(content, author)
	return strings.TrimPrefix(issue.Message, "cannot "+w.What+": ")
}

// creates reports whether a Namespace of that name was created before.
func (r *recorder) creates(namespace string) bool {
	w := r.writes[partOf(request.Location{Resource: controller.Namespaces, Name: namespace}, Create)]
	return w != nil && w.Verb == Create && w.Outcome <= Unsupported
}

// kindOf returns the kind of the parent or of a child.
func (r *recorder) kindOf(at request.Location) kind.Kind {
	resource := at.Resource.GroupResource()
	if r.of.Kind.Resource.GroupResource() == resource {
		return r.of.Kind
	}
	for _, s := range r.of.Sources {
		if s.Kind.Resource.GroupResource() == resource {
			return s.Kind
		}
	}
	return kind.Kind{Kind: resource.Resource, Resource: at.Resource}
}

// Apply sends a dry run of an apply.
func (r *recorder) Apply(ctx context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
	rendered, err := object.Decode(body)
	if err != nil {
		return nil, err
	}
	w := Write{Verb: Update, At: at}
	if rendered.ResourceVersion() == "1" {
		w.Verb = Create
	}
	return r.try(w, rendered.Content(), func() (*object.Object, error) { return r.Client.Apply(ctx, at, body, manager) },
		func() (*object.Object, error) { return rendered, nil })
}

// ApplyStatus sends a dry run of an apply of the status.
func (r *recorder) ApplyStatus(ctx context.Context, at request.Location, body []byte, manager string, force bool) (*object.Object, error) {
	rendered, err := object.Decode(body)
	if err != nil {
		return nil, err
	}
	content := map[string]any{"status": rendered.Content()["status"]}
	return r.try(Write{Verb: Status, At: at}, content, func() (*object.Object, error) { return r.Client.ApplyStatus(ctx, at, body, manager, force) },
		func() (*object.Object, error) { return rendered, nil })
}

// Delete sends a dry run of a deletion.
func (r *recorder) Delete(ctx context.Context, at request.Location, d request.Deletion) error {
	_, err := r.try(Write{Verb: Delete, At: at}, nil, func() (*object.Object, error) { return nil, r.Client.Delete(ctx, at, d) },
		func() (*object.Object, error) { return nil, nil }) //nolint:nilnil // a deletion returns no object
	return err
}

// SetMetadata sends a dry run of a change of metadata.
func (r *recorder) SetMetadata(ctx context.Context, at request.Location, m request.Metadata, manager string) (*object.Object, error) {
	return r.try(Write{Verb: Mark, At: at}, nil, func() (*object.Object, error) { return r.Client.SetMetadata(ctx, at, m, manager) },
		func() (*object.Object, error) { return r.Get(ctx, at) })
}

// ReleaseFields sends nothing: in a dry run, the applies that follow keep the fields. See child.Wanted.Body.
func (r *recorder) ReleaseFields(ctx context.Context, at request.Location, _ request.Release) (*object.Object, error) {
	return r.Get(ctx, at)
}

// SetFinalizers sends a dry run of a change of finalizers.
func (r *recorder) SetFinalizers(ctx context.Context, at request.Location, version string, finalizers []string) (*object.Object, error) {
	return r.try(Write{Verb: Finalizers, At: at}, nil, func() (*object.Object, error) { return r.Client.SetFinalizers(ctx, at, version, finalizers) },
		func() (*object.Object, error) { return r.Get(ctx, at) })
}
