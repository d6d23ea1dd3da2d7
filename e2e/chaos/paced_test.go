package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// pacedObject is the TemplateController Paced as it is in a cluster, with the IDs of revisions.
func pacedObject(plan model.Plan, current, update string, conditions ...[]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: plan.Manifest()}
	o.SetGeneration(1)
	all := ready("Accepted", map[bool]string{true: "False", false: "True"}[plan.Broken], "")
	for _, each := range conditions {
		all = append(all, each...)
	}
	o.Object["status"] = map[string]any{"currentRevision": current, "updateRevision": update, "conditions": all}
	return o
}

// pacedChecker is a cluster in a rollout of e2, whose first step has one of two parents. The other one still has e1.
func pacedChecker() *checker {
	c := rightChecker()
	c.world.Plan = model.Plan{Edition: "e2", Staged: model.InSteps, Paused: true}
	c.controllers[model.Paced] = pacedObject(c.world.Plan, "r1", "r2", ready(progressing, "Unknown", "RolloutPaused"))
	c.revisions = map[string]stored{"r1": {id: "r1", edition: "e1"}}
	for i, edition := range []string{"e1", "e2"} {
		id := model.ParentID{Kind: "Paced", Namespace: "chaos-a", Name: fmt.Sprint("p", i)}
		c.world.Parents[id] = model.Parent{Text: "t"}
		parent := &unstructured.Unstructured{Object: c.world.Parents[id].Manifest(id)}
		parent.SetUID(types.UID(fmt.Sprint("paced-", i)))
		c.parents[id] = parent
		c.makePaced(id, edition)
	}
	state := &rolloutState{From: "r1", Selected: selection{Threshold: position("r1", "paced-1")}}
	c.revisions["r2"] = stored{id: "r2", edition: "e2", state: state}
	return c
}

// position returns the position of a parent in the order of a rollout, as the state of a rollout has it.
func position(from, uid string) string {
	sum := sha256.Sum256([]byte(from + "/" + uid))
	return fmt.Sprintf("%x", sum[:8])
}

// makePaced adds the children of a parent with an edition.
func (c *checker) makePaced(id model.ParentID, edition string) {
	for name, content := range model.PacedChildren(id, "t", edition) {
		child := model.Child{ID: model.ChildID{Resource: "configmaps", Namespace: id.Namespace, Name: name}, Shape: model.Paced, Parent: id, Data: content}
		c.children[child.ID] = childObject(child, c.parents[id])
	}
}

func TestComparePacedRollout(t *testing.T) {
	first := model.ParentID{Kind: "Paced", Namespace: "chaos-a", Name: "p0"}
	state := func(c *checker) *rolloutState { return c.revisions["r2"].state }
	says := func(reason string, change func(*model.Plan)) func(*checker) {
		return func(c *checker) {
			change(&c.world.Plan)
			c.controllers[model.Paced] = pacedObject(c.world.Plan, "r1", "r2", ready(progressing, "False", reason))
		}
	}
	for why, row := range map[string]struct {
		change func(*checker)
		want   string // part of the difference; empty = none
	}{
		"each parent has its revision":        {func(*checker) {}, ""},
		"a parent has the previous revision":  {func(c *checker) { state(c).Selected.Threshold = "ffffffffffffffff" }, "which has edition e2"},
		"a parent got the revision too early": {func(c *checker) { state(c).Selected.Threshold = "" }, "which has edition e1"},
		"a parent has objects of both":        {func(c *checker) { c.makePaced(first, "e2"); c.makePaced(first, "e1") }, "unexpected configmaps chaos-a/paced-p0-e2"},
		"an object is missing": {func(c *checker) {
			delete(c.children, model.ChildID{Resource: "configmaps", Namespace: "chaos-a", Name: "paced-p1-e2"})
		}, "paced-p1-e2 of Paced chaos-a/p1 is there is nothing"},
		"a superseded parent is left as it is":   {func(c *checker) { c.makePaced(first, "e0"); state(c).Superseded.All = true }, ""},
		"the previous revision is lost":          {func(c *checker) { delete(c.revisions, "r1"); c.makePaced(first, "e0") }, ""},
		"a canary has the previous revision":     {func(c *checker) { state(c).Selected.Canaries = []types.UID{"paced-0"} }, "which has edition e2"},
		"canaries only":                          {func(c *checker) { state(c).Selected = selection{Canaries: []types.UID{"paced-1"}} }, ""},
		"a failing edition halts":                {says("RolloutHalted", func(p *model.Plan) { p.Edition, p.Paused = "e2"+model.Fails, false }), "want the data"},
		"a good edition halts":                   {says("RolloutHalted", func(p *model.Plan) { p.Paused = false }), "RolloutHalted"},
		"not approved, but a parent has it":      {says("ApprovalRequired", func(p *model.Plan) { p.Approval = true }), "ApprovalRequired"},
		"rolled out without approval":            {says("RolloutPaused", func(p *model.Plan) { p.Unapproved = true }), "RolloutPaused"},
		"refused, and not rolled out":            {says("PreflightFailed", func(p *model.Plan) { p.Edition = "e3" + model.Refused }), ""},
		"a good edition is refused":              {says("PreflightFailed", func(p *model.Plan) { p.Edition = "e3" }), "PreflightFailed"},
		"rejected: it keeps what was rolled out": {says("RolloutPaused", func(p *model.Plan) { p.Edition, p.Broken = "e3", true }), ""},
		"a revision is lost":                     {says("RevisionNotFound", func(*model.Plan) {}), "RevisionNotFound"},
		"the children of a missing parent remain": {func(c *checker) {
			c.controllers[model.Paced].Object["status"].(map[string]any)["childKinds"] = []any{map[string]any{"kind": "ConfigMap"}}
			delete(c.parents, first)
			delete(c.world.Parents, first)
		}, "unexpected configmaps chaos-a/paced-p0"},
	} {
		t.Run(why, func(t *testing.T) {
			c := pacedChecker()
			row.change(c)
			if strings.HasSuffix(c.world.Plan.Edition, model.Fails) { // the rollout has that edition
				r := c.revisions["r2"]
				r.edition = c.world.Plan.Edition
				c.revisions["r2"] = r
			}
			got := ""
			if err := c.compare(); err != nil {
				got = err.Error()
			}
			if (row.want == "") != (got == "") || !strings.Contains(got, row.want) {
				t.Errorf("got %q, want %q in it", got, row.want)
			}
		})
	}
}

func TestReadRevision(t *testing.T) {
	var data bytes.Buffer
	w := gzip.NewWriter(&data)
	_, _ = w.Write([]byte(`{"values":{"edition":"e1"}}`))
	_ = w.Close()
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "R", "data": data.Bytes(), "rollout": map[string]any{"from": "r", "selected": map[string]any{"all": true}}})
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	r, err := readRevision(o)
	if err != nil || len(r.id) != 16 || r.edition != "e1" || r.state.From != "r" || !r.state.Selected.All {
		t.Errorf("%+v, %v", r, err)
	}
	delete(o.Object, "data")
	if _, err := readRevision(o); err == nil {
		t.Error("no error without data")
	}
}
