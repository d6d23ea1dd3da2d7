package tally

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
)

// mostFailing is how many failing parents the status of a TemplateController names.
const mostFailing = 5

// Failing names some of the parents that have failed, sorted: those named before that still fail, so that the
// status changes little while many do, and then the first by name.
func (c *Counts) Failing(before []v1.FailingParent) []v1.FailingParent {
	if c.Parents.Failed == 0 {
		return nil
	}
	kept := map[types.NamespacedName]bool{}
	for _, named := range before {
		kept[types.NamespacedName{Namespace: named.Namespace, Name: named.Name}] = true
	}
	var all []v1.FailingParent
	for parent, t := range c.Tallies {
		if t.Failed {
			all = append(all, v1.FailingParent{Namespace: parent.Namespace, Name: parent.Name, Reason: t.Reason})
		}
	}
	isKept := func(p v1.FailingParent) int {
		if kept[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] {
			return 0
		}
		return 1
	}
	slices.SortFunc(all, func(a, b v1.FailingParent) int {
		return cmp.Or(cmp.Compare(isKept(a), isKept(b)), byName(a, b))
	})
	all = all[:min(len(all), mostFailing)]
	slices.SortFunc(all, byName)
	return slices.Clip(all)
}

func byName(a, b v1.FailingParent) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
