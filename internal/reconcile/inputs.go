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

// inputs are what the templates of one reconciliation read, and what they may use up.
type inputs struct {
	*reconciliation
	pause      func() error // see render.Input
	budget     budget.Pass
	memory     queue.Reservation
	decoded    map[string]any     // the parent: see content
	selected   []related.Selected // by entry of spec.related; nil until selectRelated
	unselected *problem.Problem   // why the related objects are not known
	logs       podlogs.Reading    // nil until a template reads logs
	judged     *readiness.Judge   // see judge
}

// content is the parent as JSON data, which must not be changed.
func (in *inputs) content() map[string]any {
	if in.decoded == nil {
		_ = in.budget.Spend(in.parent.ContentBytes()) // when this fails, so does the next template
		in.decoded = in.parent.Content()
	}
	return in.decoded
}

// forTemplates is what the templates read, with these children.
func (in *inputs) forTemplates(observed []*child.Live) *render.Input {
	out := &render.Input{
		Parent: in.content(), Ready: readiness.IsReady, MayHave: in.MayHave, Pause: in.pause, Budget: &in.budget,
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

// requestFactor is the memory that a request for an object takes, as a multiple of its size: the text, the body, and the response.
const requestFactor = 8

// settle returns the memory that the templates needed, except for their results and for one request of that size at a time.
func (in *inputs) settle(request int) {
	in.memory.Settle(in.budget.Kept() + requestFactor*request)
}

// selectRelated finds out, once, what the parent sees by each entry of spec.related, or returns why that is not known. No template is
// rendered then: an unknown list is not an empty one.
func (in *inputs) selectRelated() *problem.Problem {
	if len(in.Related) > 0 && in.selected == nil {
		input := &render.Input{Parent: in.content(), Pause: in.pause, Budget: &in.budget}
		var unreadable *related.Entry
		in.selected, unreadable, in.unselected = related.SelectFor(in.Related, in.parent, func(entry string) ([]map[string]any, error) { return in.Program.Select(entry, input) })
		if unreadable != nil {
			in.unselected = problem.Newf(v1.ReasonRelatedUnreadable, "%s cannot read %s: see the condition Watching of TemplateController %s; until then, nothing is changed", permissions.DisplayName(in.As), syntax.RelatedName(unreadable.Name), in.Name)
		}
	}
	return in.unselected
}

// related returns what the parent sees by the entry of that name: see render.Input.
func (in *inputs) related(name string) ([]map[string]any, error) {
	i := slices.IndexFunc(in.Related, func(e *related.Entry) bool { return e.Name == name })
	if i < 0 || in.selectRelated() != nil { // which is reported, or impossible: the names of a program are those of its spec
		return nil, fmt.Errorf("%s is not known", syntax.RelatedName(name))
	}
	return child.DecodeAll(in.selected[i].Objects(), &in.budget)
}

// errNoLogs says which Pods have logs. Authors read it.
var errNoLogs = errors.New("the argument is not a Pod that an entry of spec.related with logs selects for this parent")

// logsOf returns the known logs of a Pod that the parent sees: see render.Input. If several entries select it, the first one with logs
// says how much. The argument only identifies the Pod: templates may have made it up.
func (in *inputs) logsOf(pod map[string]any) (map[string]string, error) {
	namespace, _, _ := unstructured.NestedString(pod, "metadata", "namespace")
	name, _, _ := unstructured.NestedString(pod, "metadata", "name")
	uid, _, _ := unstructured.NestedString(pod, "metadata", "uid")
	at := types.NamespacedName{Namespace: namespace, Name: name}
	if in.selectRelated() != nil {
		return nil, errNoLogs // why is reported
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

// endLogs drops logs that the templates no longer read. It must be called only after the status template was executed, which alone reads
// logs.
func (in *inputs) endLogs() {
	if in.logs == nil {
		in.r.Logs.Forget(in.key)
	} else {
		in.logs.End()
	}
}

// fingerprint differs for different states of the related objects that templates have read, and of their logs. Objects whose status
// templater itself writes do not count: two such parents that read each other's could go on without an end.
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

// judge returns what decides whether children are ready. readyWhen expressions see these as what there is. It is one judge until the
// reconciliation has changed a child; nil where no template has readyWhen.
func (in *inputs) judge(observed []*child.Live) *readiness.Judge {
	if in.judged == nil && in.Program.JudgesReadiness() {
		in.judged = readiness.NewJudge(in.Program, in.forTemplates(observed))
		in.report.CountAssumed(in.judged, observed)
	}
	return in.judged
}

// judgeFaults returns why readyWhen could not be evaluated. Where the related objects are not known, that is reported already.
func (in *inputs) judgeFaults(judge *readiness.Judge) problem.List {
	if in.selectRelated() != nil {
		return nil
	}
	return judge.Faults()
}
