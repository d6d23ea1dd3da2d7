package plan

import "github.com/templater-dev/templater/internal/reconcile/child"

// prune plans for a child that is no longer desired: it is pruned or kept. A kept child gets the Marks of its child template, because they
// record its policies in case the child template is removed from the spec.
func (in Input) prune(p *Plan, l *child.Live) {
	if l.Object.Deleting() {
		return
	}
	if in.Complete && in.Entries.Prunes(l) && !in.Dependencies.Keeps(l) {
		p.Remove = append(p.Remove, Action{Verb: Delete, Live: l, Foreground: recreates(in.Entries.Of(l))})
		return
	}
	if entry := in.Entries.Of(l); entry != nil {
		w := in.Maker.Unwanted(entry, l)
		if w.NeedsMark(l.Object) || w.Marks.KeyOutdated(l.Object) {
			p.Apply = append(p.Apply, Action{Verb: Mark, Wanted: w, Live: l})
		}
		return
	}
	if in.Maker.NeedsSeal(l) {
		p.Apply = append(p.Apply, Action{Verb: Seal, Live: l})
	}
}
