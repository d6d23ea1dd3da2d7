package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// stored is a TemplateRevision of Paced.
type stored struct {
	id, edition string
	state       *rolloutState // nil = there was no rollout
}

// rolloutState is the part of the state of a rollout that decides which parents have its revision.
type rolloutState struct {
	From       string
	Selected   selection
	Superseded selection
}

// selection selects the first parents of a rollout: canaries, and then in the order of a hash of their UIDs.
type selection struct {
	Canaries  []types.UID
	Threshold string
	All       bool
}

// has reports whether the parent is selected.
func (s selection) has(salt string, parent *unstructured.Unstructured) bool {
	sum := sha256.Sum256([]byte(salt + "/" + string(parent.GetUID())))
	return s.All || slices.Contains(s.Canaries, parent.GetUID()) || s.Threshold != "" && fmt.Sprintf("%x", sum[:8]) <= fmt.Sprintf("%016s", s.Threshold)
}

// readRevision decodes a TemplateRevision.
func readRevision(o *unstructured.Unstructured) (stored, error) {
	whole := struct {
		Data    []byte
		Rollout *rolloutState
	}{}
	text, err := o.MarshalJSON()
	if err != nil {
		return stored{}, err
	}
	if err := json.Unmarshal(text, &whole); err != nil {
		return stored{}, err
	}
	reader, err := gzip.NewReader(bytes.NewReader(whole.Data))
	if err != nil {
		return stored{}, err
	}
	var spec struct{ Values struct{ Edition string } }
	var data bytes.Buffer
	if _, err := data.ReadFrom(reader); err != nil {
		return stored{}, err
	}
	err = json.Unmarshal(data.Bytes(), &spec)
	sum := sha256.Sum256(data.Bytes())
	return stored{fmt.Sprintf("%x", sum[:8]), spec.Values.Edition, whole.Rollout}, err
}

// paced checks that each parent of Paced has exactly the objects of the revision that the state of the rollout gives it.
func (c *checker) paced() {
	o, plan := c.controllers[model.Paced], c.world.Plan
	if o == nil {
		c.fault("TemplateController %s does not exist", model.Paced)
		return
	}
	update, _, _ := unstructured.NestedString(o.Object, "status", "updateRevision")
	current, _, _ := unstructured.NestedString(o.Object, "status", "currentRevision")
	newest := c.revisions[update]
	switch {
	case plan.Suspended:
		c.condition(o, "Ready", "False", "")
		return
	case plan.Broken:
		c.condition(o, "Accepted", "False", "")
	default:
		c.condition(o, "Accepted", "True", "")
		if complete := current == update && update != ""; complete && newest.id == "" {
			newest = stored{id: update, edition: plan.Edition} // its TemplateRevision was deleted, and is not needed
		}
		c.phase(o, newest, current == update)
	}
	for id, parent := range c.parents {
		if id.Kind != model.KindOf(model.Paced) || parent.GetDeletionTimestamp() != nil {
			continue
		}
		of := newest
		if current != update {
			of = c.revisionOf(parent, newest, current)
		}
		if of.id != "" && !strings.HasSuffix(of.edition, model.Refused) {
			c.pacedChildren(id, parent, of.edition)
		}
	}
}

// revisionOf returns the revision that a parent must have during a rollout; none if it must be left as it is.
func (c *checker) revisionOf(parent *unstructured.Unstructured, newest stored, current string) stored {
	state := newest.state
	switch {
	case state == nil:
		return stored{}
	case state.Selected.has(state.From, parent):
		return newest
	case state.Superseded.has(state.From, parent):
		return stored{}
	default:
		return c.revisions[current]
	}
}

// pacedChildren compares the children of a parent with those of an edition.
func (c *checker) pacedChildren(id model.ParentID, parent *unstructured.Unstructured, edition string) {
	want := model.PacedChildren(id, c.world.Parents[id].Text, edition)
	for name, content := range want {
		o := c.children[model.ChildID{Resource: "configmaps", Namespace: id.Namespace, Name: name}]
		if refs := ownersOf(o); o == nil || o.GetDeletionTimestamp() != nil || !slices.Contains(refs, parent.GetUID()) || !maps.Equal(data(o), content) {
			c.fault("%s of %s is %s; want the data %q and the owner %s", name, id, show(o), content, parent.GetUID())
		}
	}
	for each, o := range c.children {
		if _, wanted := want[each.Name]; !wanted && strings.HasPrefix(each.Name, model.Paced+"-") && slices.Contains(ownersOf(o), parent.GetUID()) {
			c.fault("unexpected %s of %s, which has edition %s: %s", each, id, edition, show(o))
		}
	}
}

// phase checks what the TemplateController reports about its newest edition. all is true if all parents have the revision newest.
func (c *checker) phase(o *unstructured.Unstructured, newest stored, all bool) {
	plan, got := c.world.Plan, conditionOf(o, progressing)
	rollout, staged, _ := unstructured.NestedMap(o.Object, "spec", "rollout")
	reason, _ := got["reason"].(string)
	bad := strings.HasSuffix(plan.Edition, model.Fails) || strings.HasSuffix(plan.Edition, model.Refused)
	reached := newest.edition == plan.Edition
	right := false
	switch reason {
	case "":
		right = !staged && all && reached
	case "RolloutComplete":
		right = all && reached && !plan.Unapproved
	case "RolloutPaused":
		right = plan.Paused && reached && !plan.Unapproved
	case "ApprovalRequired":
		right = plan.Approval && reached && rollout["approvedRevision"] != newest.id && newest.state != nil && reflect.DeepEqual(newest.state.Selected, selection{})
	case "PreflightFailed":
		right = strings.HasSuffix(plan.Edition, model.Refused) && !reached
	case "RolloutHalted":
		right = reached && (bad || plan.Paused) && !plan.Unapproved
		if !right {
			c.halted = append(c.halted, model.Paced)
		}
	case "RevisionNotFound":
		c.halted = append(c.halted, model.Paced)
	default:
	}
	if !right || got != nil && got["observedGeneration"] != o.GetGeneration() {
		c.fault("TemplateController %s, generation %d, has edition %q of %+v, condition %v and spec.rollout %v", model.Paced, o.GetGeneration(), newest.edition, plan, got, rollout)
	}
}

// approver is the field manager that approves revisions.
const approver = "approver"

// approveWithin is how long an approver waits for a revision that waits for approval.
const approveWithin = 5 * time.Second

var errNoApproval = errors.New("no revision waits for approval")

// approve approves the revision of Paced that waits for it, if there is one.
func (h *harness) approve(ctx context.Context) error {
	err := await(ctx, approveWithin, func() error {
		o, err := h.client.Resource(controllers).Get(ctx, model.Paced, metav1.GetOptions{})
		if err != nil {
			return err
		}
		update, _, _ := unstructured.NestedString(o.Object, "status", "updateRevision")
		if conditionOf(o, progressing)["reason"] != "ApprovalRequired" {
			return errNoApproval
		}
		return h.setApproved(ctx, map[string]any{"spec": map[string]any{"rollout": map[string]any{"approvedRevision": update, "readyTimeout": model.ReadyTimeout}}})
	})
	if ctx.Err() == nil {
		return nil // it waits no longer
	}
	return err
}

// setApproved sets the fields of the approver.
func (h *harness) setApproved(ctx context.Context, fields map[string]any) error {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "templater.dev/v1", "kind": "TemplateController", "metadata": map[string]any{"name": model.Paced}}}
	maps.Copy(o.Object, fields)
	_, err := h.client.Resource(controllers).Apply(ctx, model.Paced, o, metav1.ApplyOptions{FieldManager: approver, Force: true})
	return err
}

// loseRevision deletes the TemplateRevision that the field of the status of Paced names.
func (h *harness) loseRevision(ctx context.Context, field string) error {
	return h.insist(ctx, "delete the TemplateRevision of "+field, func() error {
		o, err := h.client.Resource(controllers).Get(ctx, model.Paced, metav1.GetOptions{})
		if err != nil {
			return gone(err)
		}
		id, _, _ := unstructured.NestedString(o.Object, "status", field)
		all, err := h.client.Resource(revisions).List(ctx, metav1.ListOptions{LabelSelector: "templater.dev/controller=" + model.Paced})
		if err != nil {
			return err
		}
		for i := range all.Items {
			if r, err := readRevision(&all.Items[i]); err == nil && r.id == id {
				return gone(h.client.Resource(revisions).Delete(ctx, all.Items[i].GetName(), metav1.DeleteOptions{}))
			}
		}
		return nil
	})
}

// retryPaced continues the halted rollout of Paced, or one with lost revisions, as its conditions say.
func (h *harness) retryPaced(ctx context.Context, w *model.World) error {
	o, err := h.client.Resource(controllers).Get(ctx, model.Paced, metav1.GetOptions{})
	if err != nil {
		return err
	}
	message, _ := conditionOf(o, progressing)["message"].(string)
	w.Plan.Retry++
	if strings.Contains(message, "remove spec.rollout") {
		w.Plan = model.Plan{Edition: w.Plan.Edition}
		if err := h.insist(ctx, "remove the approval", func() error { return h.setApproved(ctx, nil) }); err != nil {
			return err
		}
	}
	return h.apply(ctx, controllers, w.Plan.Manifest())
}
