package model

import (
	"fmt"
	"slices"
	"strings"
)

// Paced is a TemplateController whose rollouts also halt, pause, are refused, or wait for approval when a round ends. It is none of Shapes:
// which revision a parent has depends on the moment of a fault, and is derived from the state of the rollout.
const Paced = "paced"

// The ends of the names of editions that are not rolled out completely.
const (
	Fails   = "-fails"   // objects never get ready, so the rollout halts
	Refused = "-refused" // the API server rejects an object
)

// ReadyTimeout is that of the rollouts of Paced.
const ReadyTimeout = "5s"

// Plan is the desired state of Paced.
type Plan struct {
	Edition   string // of its revision
	Staged    Staged
	Approval  bool // required
	Paused    bool
	Suspended bool
	Broken    bool // has an invalid template, and is rejected
	Retry     int
	// Unapproved is true if no parent may have the edition: it is new, needs approval, and nobody has approved it.
	Unapproved bool
}

// Each edition has two objects, one of which no other edition has.
const (
	pacedMap = `apiVersion: v1
kind: ConfigMap
metadata:
  name: paced-{{ .metadata.name }}
  @label
data:
  text: {{ .spec.text }}
  edition: {{ .values.edition }}
`
	pacedMore = `apiVersion: v1
kind: ConfigMap
metadata:
  name: paced-{{ .metadata.name }}-@edition
data:
  text: {{ .spec.text }}
  edition: "@edition"
`
)

// PacedChildren are the desired children of a parent, by name.
func PacedChildren(id ParentID, text, edition string) map[string]map[string]string {
	data, name := map[string]string{"text": text, "edition": edition}, Paced+"-"+id.Name
	return map[string]map[string]string{name: data, name + "-" + edition: data}
}

// Manifest returns the TemplateController as an object.
func (p Plan) Manifest() map[string]any {
	label := choice(strings.HasSuffix(p.Edition, Refused), `labels: {bad: "{{ .metadata.name }}!"}`, "")
	fill := strings.NewReplacer("@label", label, "@edition", p.Edition)
	template := choice(p.Broken, broken, "") + fill.Replace(pacedMap)
	spec := map[string]any{
		"watch": map[string]any{"apiVersion": Group + "/v1", "kind": KindOf(Paced)}, "resyncPeriod": "0s", "suspend": p.Suspended, "revisionHistoryLimit": int64(3),
		"values": map[string]any{"edition": p.Edition},
		"children": []any{
			map[string]any{"name": "config", "template": template, "readyWhen": `not (hasSuffix "` + Fails + `" .object.data.edition)`},
			map[string]any{"name": "more", "template": fill.Replace(pacedMore)},
		},
	}
	if rollout := p.rollout(); len(rollout) > 0 {
		spec["rollout"] = rollout
	}
	return map[string]any{"apiVersion": "templater.dev/v1", "kind": "TemplateController", "metadata": map[string]any{"name": Paced}, "spec": spec}
}

func (p Plan) rollout() map[string]any {
	out := Controller{Staged: p.Staged, Retry: p.Retry}.Rollout(Paced)
	if out == nil {
		out = map[string]any{}
	}
	if p.Approval {
		out["approval"] = "Required"
	}
	if p.Paused {
		out["paused"] = true
	}
	if len(out) > 0 {
		out["readyTimeout"] = ReadyTimeout
	}
	return out
}

// setPlan applies an action on Paced.
func (w *World) setPlan(a Action) {
	switch a.Verb {
	case SetController:
		fresh := a.Plan.Edition != w.Plan.Edition && !slices.Contains(w.editions, a.Plan.Edition)
		a.Plan.Unapproved = a.Plan.Approval && (fresh || w.Plan.Unapproved && a.Plan.Edition == w.Plan.Edition)
		w.Plan = a.Plan
		if fresh {
			w.editions = append(w.editions, a.Plan.Edition)
		}
	case ReplaceController, ApproveRevision: // the first revision needs no approval
		w.Plan.Unapproved = false
	default:
	}
}

// ofPlan draws an action on Paced.
func (d *drawer) ofPlan() Action {
	a := Action{Verb: SetController, Shape: Paced, Plan: d.world.Plan}
	switch n := d.IntN(10); {
	case n < 6:
	case n < 8 && a.Plan.Approval:
		a.Verb = ApproveRevision
		return a
	case n == 8 && !slices.Contains(d.without, string(LoseRevision)):
		a.Verb, a.Text = LoseRevision, []string{"currentRevision", "updateRevision"}[d.IntN(2)]
		return a
	case n == 9:
		a.Verb = []Verb{ReplaceController, WipeController}[d.IntN(2)]
		return a
	default:
	}
	for range 1 + d.IntN(3) {
		d.editPlan(&a.Plan)
	}
	return a
}

func (d *drawer) editPlan(p *Plan) {
	switch n := d.IntN(14); {
	case n < 5:
		p.Edition = fmt.Sprintf("e%d%s", len(d.world.editions), []string{"", "", "", Fails, Refused}[d.IntN(5)])
	case n == 5:
		p.Edition = d.world.editions[d.IntN(len(d.world.editions))]
	case n < 9:
		p.Staged = []Staged{AtOnce, InSteps, InSteps, Canaries}[d.IntN(4)]
	case n == 9:
		p.Approval = !p.Approval
	case n == 10:
		p.Paused = !p.Paused
	case n == 11:
		p.Broken = !p.Broken
	case n == 12:
		p.Suspended = !p.Suspended && d.IntN(2) == 0
	default:
		p.Retry++
	}
}

// ofPaced draws an action that concerns Paced, its parents or their children.
func (d *drawer) ofPaced() Action {
	switch n := d.IntN(10); {
	case n < 4:
		return d.ofParent()
	case n == 4:
		id := d.parentID()
		return Action{Verb: DeleteChild, Child: ChildID{"configmaps", id.Namespace, Paced + "-" + id.Name}}
	case slices.Contains(d.without, Paced):
		return d.ofParent()
	default:
		return d.ofPlan()
	}
}
