package reconcile

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// inputs are the input and the resources of the templates in one reconciliation.
type inputs struct {
	*reconciliation
	pause      func() error // see render.Input
	budget     budget.Budget
	memory     queue.Reservation
	decoded    map[string]any     // the parent: see content
	selected   []related.Selected // by related entry; nil until selectRelated is called
	unselected *problem.Problem   // why the related objects are unknown
	logs       podlogs.Reading    // nil until a template reads logs
	judged     *readiness.Judge   // see judge
}

// content returns the parent as JSON data. It must not be modified.
func (in *inputs) content() map[string]any {
	if in.decoded == nil {
		_ = in.budget.Spend(in.parent.ContentBytes()) // if this fails, so does the next template
		in.decoded = in.parent.Content()
	}
	return in.decoded
}

// forTemplates returns the input for templates, with these children.
func (in *inputs) forTemplates(observed []*child.Live) *render.Input {
	out := &render.Input{
		Parent: in.content(), Ready: readiness.IsReady, MayHave: in.MayHave, Passed: in.moments.passed, Pause: in.pause, Budget: &in.budget,
		Observed: child.Contents(observed, &in.budget),
	}
	if len(in.Related) > 0 {
		out.Related = in.related
		if slices.ContainsFunc(in.Related, (*related.Entry).ReadsLogs) {
			out.Logs = in.logsOf
		}
	}
	return out
}

// requestFactor is the memory for a request, as a multiple of the object's size: for the text, the body, and the response.
const requestFactor = 8

// settle releases the memory that the templates needed, except for their results and for one request of that size at a time.
func (in *inputs) settle(request int) {
	in.memory.Settle(in.budget.Kept() + requestFactor*request)
}

// selectRelated selects the related objects of the parent, once per reconciliation, or returns why they are unknown. No templates are rendered
// in that case: an unknown list is not an empty list.
func (in *inputs) selectRelated() *problem.Problem {
	if len(in.Related) > 0 && in.selected == nil {
		input := &render.Input{Parent: in.content(), Pause: in.pause, Budget: &in.budget}
		var unreadable *related.Entry
		in.selected, unreadable, in.unselected = related.SelectFor(in.Related, in.parent, func(entry string) ([]map[string]any, error) { return in.Program.Select(entry, input) })
		if unreadable != nil {
			in.unselected = problem.Newf(v1.ReasonRelatedUnreadable, "%s cannot read %s: see the Watching condition of %s; children are left unchanged until this is resolved", permissions.DisplayName(in.As), syntax.RelatedName(unreadable.Name), v1.Describe(in.Name))
		}
	}
	return in.unselected
}

// related returns the objects of a related entry: see render.Input.
func (in *inputs) related(name string) ([]map[string]any, error) {
	i := slices.IndexFunc(in.Related, func(e *related.Entry) bool { return e.Name == name })
	if i < 0 || in.selectRelated() != nil { // already reported, or impossible: the names of a program are those of its spec
		return nil, fmt.Errorf("%s is not known", syntax.RelatedName(name))
	}
	return child.DecodeAll(in.selected[i].Objects(), &in.budget)
}

// errNoLogs is returned to templates for a Pod without logs.
var errNoLogs = errors.New("the argument is not a Pod selected for this parent by a spec.related entry that sets logs")

// logsOf returns the known logs of a Pod that is a related object of the parent: see render.Input. If several related entries select it, the
// first one with logs determines how much. pod only identifies the Pod: templates may have constructed it.
func (in *inputs) logsOf(pod map[string]any) (map[string]string, error) {
	namespace, _, _ := unstructured.NestedString(pod, "metadata", "namespace")
	name, _, _ := unstructured.NestedString(pod, "metadata", "name")
	uid, _, _ := unstructured.NestedString(pod, "metadata", "uid")
	at := types.NamespacedName{Namespace: namespace, Name: name}
	if in.selectRelated() != nil {
		return nil, errNoLogs // the reason is already reported
	}
	for i, e := range in.Related {
		if e.Logs == nil {
			continue
		}
		seen := in.selected[i].Objects()
		n, found := slices.BinarySearchFunc(seen, at, func(o *object.Object, at types.NamespacedName) int { return object.CompareKeys(o.Key(), at) })
		if found && string(seen[n].UID()) == uid {
			if in.logs == nil {
				in.logs = in.r.Logs.Begin(in.key, in.As, in.Resync)
			}
			if err := in.budget.Spend(seen[n].BytesAt("status")); err != nil {
				return nil, err
			}
			return in.logs.Logs(seen[n], podlogs.OptionsOf(e.Logs)), nil
		}
	}
	return nil, errNoLogs
}

// endLogs drops logs that the templates no longer read. It must only be called after the status template was rendered, because only that reads
// logs.
func (in *inputs) endLogs() {
	if in.logs == nil {
		in.r.Logs.Forget(in.key)
	} else {
		in.logs.End()
	}
}

// fingerprint returns a hash of the related objects that templates have read, and of their logs. Objects whose status templater writes are
// excluded, because two such parents that read each other could trigger each other forever.
func (in *inputs) fingerprint() uint64 {
	if len(in.selected) == 0 {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(child.Seed)
	for i := range in.selected {
		for _, o := range in.selected[i].Found() {
			if !o.HasAppliedStatus() {
				child.AddVersion(&h, o)
			}
		}
	}
	if in.logs != nil {
		maphash.WriteComparable(&h, in.logs.Version())
	}
	return h.Sum64()
}

// judge returns the Judge for these children. readyWhen expressions are rendered with them as observed children. The Judge is reused until the
// reconciliation changes a child. It is nil if no template has readyWhen.
func (in *inputs) judge(observed []*child.Live) *readiness.Judge {
	if in.judged == nil && in.Program.JudgesReadiness() {
		in.judged = readiness.NewJudge(in.Program, in.forTemplates(observed))
		in.report.CountAssumed(in.judged, observed)
	}
	return in.judged
}

// judgeFaults returns why readyWhen could not be evaluated. It returns nil if the related objects are unknown, because that is already reported.
func (in *inputs) judgeFaults(judge *readiness.Judge) problem.List {
	if in.selectRelated() != nil {
		return nil
	}
	return judge.Faults()
}
