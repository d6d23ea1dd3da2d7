package model

import (
	"slices"
	"strings"
)

// Name suffixes of the children of a parent of Chain, in order of creation, appended to the name of the first one. Each
// waits until the previous one is ready.
const (
	WebMark    = "-web"
	LastMark   = "-last"
	BackupMark = "-backup" // is created when the parent is deleted, before the others are deleted
)

// ReadyKey is the data key of objects that someone must make ready, and ReadyText its value then.
const (
	ReadyKey  = "foreign"
	ReadyText = "ready"
)

// FailsKey is the data key that says whether an object never becomes ready.
const FailsKey = "fails"

const (
	readyWhen = `eq (.object.data.` + ReadyKey + ` | default "") "` + ReadyText + `"`
	web       = `apiVersion: v1
kind: ConfigMap
metadata:
  name: chain-{{ .metadata.name }}-web
data:
  text: {{ (first .children.@entry).data.text }}
  edition: "@edition"
`
	last = `apiVersion: v1
kind: ConfigMap
metadata:
  name: chain-{{ .metadata.name }}-last
data:
  text: {{ .spec.text }}
`
	backup = `apiVersion: v1
kind: ConfigMap
metadata:
  name: chain-{{ .metadata.name }}-backup
data:
  text: {{ .spec.text }}
  fails: "{{ and (eq (int .spec.count) 4) (not (hasKey (.metadata.labels | default dict) "@label")) }}"
`
)

// chain adds dependent child templates to the first one.
func (c Controller) chain(entries []any) []any {
	first, _ := entries[0].(map[string]any)
	first["readyWhen"] = readyWhen
	second := c.entry(Chain, "web", strings.ReplaceAll(web, "@entry", c.Entry))
	third := c.entry(Chain, "last", last)
	third["dependsOn"] = []any{"web"}
	return append(entries, second, third)
}

// finalize is spec.finalize of Chain.
func (c Controller) finalize() map[string]any {
	entry := c.entry(Chain, "backup", strings.ReplaceAll(backup, "@label", ParentLabel))
	entry["readyWhen"] = readyWhen
	all := map[string]any{"order": "Reverse", "children": []any{entry}}
	if !c.Blocks {
		all["timeout"] = "20s"
	}
	return all
}

// Finalizing reports whether parents of that TemplateController have a finalizer.
func (c Controller) Finalizing(shape string) bool { return shape == Wide || shape == Chain && !c.Hasty }

// blocks reports whether that TemplateController may block the deletion of a parent without a timeout.
func (c Controller) blocks(shape string) bool {
	return c.Blocks && c.Finalizing(shape) && shape == Chain
}

// ofDeparture deletes an existing parent in a random way.
func (d *drawer) ofDeparture() Action {
	there := d.there()
	if len(there) == 0 {
		return d.ofParent()
	}
	id := there[d.IntN(len(there))]
	switch d.IntN(7) {
	case 0:
		return Action{Verb: OrphanParent, ID: id}
	case 3:
		if d.marked { // without finalization, the operator has to know whose children it deletes
			return Action{Verb: DeleteParent, ID: id}
		}
		return Action{Verb: SkipParent, ID: id}
	case 1:
		return Action{Verb: DeleteParent, ID: id, Hard: true}
	case 2:
		return Action{Verb: ReplaceParent, ID: id, Parent: d.parent()}
	default:
		return Action{Verb: DeleteParent, ID: id}
	}
}

// there are the existing parents of the kind.
func (d *drawer) there() []ParentID {
	return slices.DeleteFunc(d.world.ParentIDs(), func(id ParentID) bool { return id.Kind != d.kind })
}
