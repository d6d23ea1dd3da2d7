package main

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

func TestParentBlockedByFinalization(t *testing.T) {
	parent := func(reason string, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"namespace": "chaos-a", "name": "p", "uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z"},
			"status":   map[string]any{"conditions": []any{map[string]any{"type": "Ready", "reason": reason}}},
		}}
		change(o)
		return o
	}
	now := time.Date(2026, 1, 1, 0, 2, 0, 0, time.UTC)
	as := func(*unstructured.Unstructured) {}
	for why, row := range map[string]struct {
		parent *unstructured.Unstructured
		want   bool
	}{
		"waits for long":           {parent("Finalizing", as), true},
		"just deleted":             {parent("Finalizing", func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(&metav1.Time{Time: now}) }), false},
		"waits for something else": {parent("ChildForbidden", as), false},
		"no condition":             {parent("", func(o *unstructured.Unstructured) { delete(o.Object, "status") }), false},
		"not deleted":              {parent("Finalizing", func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(nil) }), false},
		"skip-finalize is set": {parent("Finalizing", func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{"templater.dev/skip-finalize": "true"})
		}), false},
		"other annotations": {parent("Finalizing", func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"a": "b"}) }), true},
	} {
		if got := waitsForSomebody(row.parent, now, time.Second); got != row.want {
			t.Errorf("%s: %v, want %v", why, got, row.want)
		}
	}
}

func TestUnboundedWaitRequiresBlockingRound(t *testing.T) {
	b := &harness{}
	if err := b.waitedRightly(&model.Round{}); err != nil {
		t.Errorf("nobody has waited: %v", err)
	}
	o := &unstructured.Unstructured{}
	o.SetName("p")
	b.noteWaited(o)
	if err := b.waitedRightly(&model.Round{Blocks: true}); err != nil {
		t.Errorf("it was to: %v", err)
	}
	if err := b.waitedRightly(&model.Round{}); err != nil {
		t.Errorf("that was the round before: %v", err)
	}
	b.noteWaited(o)
	if err := b.waitedRightly(&model.Round{}); err == nil {
		t.Error("it was not to wait")
	}
}
