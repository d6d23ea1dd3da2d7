package shape

import (
	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/lint/outline"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
)

// ownCondition notes a condition of the status template that is templater's own: see internal/reconcile/condition.
func (c *checker) ownCondition(s *outline.Skeleton) {
	own := spec.ReadyCondition(c.spec)
	for _, d := range s.Documents {
		conditions := valueOf(d.Root, "conditions")
		if own == "" || conditions == nil || conditions.Kind != yaml.SequenceNode {
			continue
		}
		at := shape{c: c, s: s, first: d.First}
		for _, item := range conditions.Content {
			if of := valueOf(item, "type"); of != nil && of.Kind == yaml.ScalarNode && of.Value == own && c.Step() {
				c.Warn(finding.OwnCondition, at.place(of), "", "the condition %s is templater's own, and a status that has it is not written: leave it out, or set spec.status.readyCondition to another type, or to \"\" for none", own)
			}
		}
	}
}

// valueOf returns what is under a key, or nil if there is none, or no mapping.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	if v := entryOf(n, key); v != n && n.Kind == yaml.MappingNode {
		return v
	}
	return nil
}
