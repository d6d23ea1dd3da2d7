package reconcile

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// summarize begins the summary of the parent with its children.
func (s *statusWriter) summarize(observed []*child.Live, judge *readiness.Judge) *status.ParentSummary {
	summary := &status.ParentSummary{Generation: s.Generation, Children: int64(len(observed))}
	for _, l := range observed {
		if judge.Of(l.Entry, l.Object) == readiness.Ready {
			summary.ChildrenReady++
		}
	}
	return summary
}

// render executes the status template. If that fails or is not possible, or the child templates have used up the budget, which is reported
// already, the status is kept.
func (s *statusWriter) render(observed []*child.Live) (content map[string]any, rendered bool, issue *problem.Problem) {
	in := &s.inputs
	if in.selectRelated() != nil || len(s.problems) > 0 && in.budget.UsedUp() {
		return s.own(), false, nil
	}
	kept := in.budget.Kept()
	content, err := s.Program.Status(in.forTemplates(observed))
	in.settle(in.budget.Kept() - kept)
	if err != nil {
		return s.own(), false, problem.FromTemplate(err)
	}
	if content == nil {
		content = map[string]any{}
	}
	content = status.DropNulls(content)
	if fault := cmp.Or(s.conditions().Fill(content), s.Factory.KeyFault(map[string]any{"status": content})); fault != "" {
		return s.own(), true, problem.Newf(v1.ReasonTemplateError, "status: %s", fault)
	}
	return content, true, status.DropUnknown(content, s.Kind, s.Author())
}

// own is the part of the parent's status that this controller owns.
func (s *statusWriter) own() map[string]any {
	current, _ := s.inputs.content()["status"].(map[string]any)
	owned, ok := s.parent.Applied(s.Manager, "status").Field("status")
	if !ok || current == nil {
		return map[string]any{}
	}
	kept, _ := owned.Extract(current).(map[string]any)
	return kept
}

// conditions completes the conditions of the parent.
func (s *statusWriter) conditions() status.Conditions {
	content, _ := s.inputs.content()["status"].(map[string]any)
	return status.Conditions{
		Status: content, Generation: s.parent.Generation(), Generations: s.Kind.Status != nil && s.Kind.Status.ObservedGeneration,
		Own: s.ReadyCondition, Clock: s.r.Clock,
	}
}

// withReady puts the ready condition into status, if the parent can hold it. Another
// manager's condition of that type is left alone, and so are all conditions where they are one list that another manager writes.
func (s *statusWriter) withReady(content map[string]any, v status.Verdict) map[string]any {
	foreign, _ := s.foreignCondition()
	if foreign && s.Kind.Status != nil && s.Kind.Status.Atomic {
		delete(content, "conditions")
		return content
	}
	if s.HoldsCondition() && !foreign {
		s.conditions().SetOwn(content, v.Status, v.Reason, v.Message)
	}
	return content
}

// foreignCondition reports whether another manager owns the ready condition, or the whole list where that is one value. It also returns the
// TemplateController that owns the condition, or "". A condition that a deleted TemplateController has left is free.
func (s *statusWriter) foreignCondition() (foreign bool, rival string) {
	if s.conditionsOwned {
		return true, ""
	}
	atomic := s.Kind.Status != nil && s.Kind.Status.Atomic
	named := false // whether an owner has the name of this manager, which others may use for updates
	for manager, held := range s.parent.Conditions {
		if manager == s.Manager {
			named = true
			continue
		}
		if atomic {
			return true, ""
		}
		if _, ok := held.Item(map[string]any{"type": s.ReadyCondition}); !ok {
			continue
		}
		name, ours := strings.CutPrefix(manager, v1.FieldManagerPrefix)
		if !ours {
			return true, ""
		}
		if s.r.Controllers.MayWrite(name, s.GVK.GroupKind(), s.key.Parent) && (rival == "" || name < rival) {
			foreign, rival = true, name
		}
	}
	if !atomic {
		return foreign, rival
	}
	owned, _ := s.parent.Applied(s.Manager, "status").Field("status")
	_, held := owned.Field("conditions")
	return !held && (named || s.conditions().HasOthers()), ""
}

// leaveContested removes fields from status that other TemplateControllers write. It returns one of them and its writer, in words, or "".
//
// A field of a parent's status has one writer, or two TemplateControllers would take it from each other again and again. The first one keeps
// it: an apply names the version of the parent that it is based on, so that of two that begin at once, one sees the other.
func (s *statusWriter) leaveContested(content map[string]any) string {
	found := ""
	for manager, held := range s.parent.AppliedByOthers(s.Manager, "status") {
		name := strings.TrimPrefix(manager, v1.FieldManagerPrefix)
		if !s.r.Controllers.MayWrite(name, s.GVK.GroupKind(), s.key.Parent) {
			continue
		}
		set, _ := held.Field("status")
		whole := map[string]any{"status": runtime.DeepCopyJSON(content)} // rare: only where another one writes here
		if path := set.Remove(content, ".status"); path != "" && found == "" {
			found = s.Author().Path(path, whole) + " is written by TemplateController " + problem.PublicName(name)
		}
	}
	return found
}
