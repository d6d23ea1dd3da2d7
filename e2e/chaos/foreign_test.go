package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

func TestForgedChildMetadata(t *testing.T) {
	parent := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "chaos.example.org/v1", "kind": "One"}}
	parent.SetName("p")
	parent.SetUID("uid-p")
	type looks struct {
		Owner    types.UID // with which it is deleted
		Labelled bool
		Owned    bool // by the parent
		Controls bool // whichever owner it has
	}
	for why, row := range map[string]struct {
		guise  model.Guise
		parent *unstructured.Unstructured
		want   looks
	}{
		"plain":                            {model.Plain, parent, looks{}},
		"labels":                           {model.Labelled, parent, looks{Labelled: true}},
		"owner that is not the controller": {model.CoOwned, parent, looks{Owner: "uid-p", Labelled: true, Owned: true}},
		"controller that does not exist":   {model.Bereft, parent, looks{Owner: forged, Labelled: true, Controls: true}},
		"everything except the seal":       {model.Identical, parent, looks{Owner: "uid-p", Labelled: true, Owned: true, Controls: true}},
		"no parent":                        {model.Identical, nil, looks{Labelled: true}},
	} {
		t.Run(why, func(t *testing.T) {
			o := &unstructured.Unstructured{Object: map[string]any{}}
			got := looks{Owner: disguise(o, model.Action{Guise: row.guise, Shape: model.One}, row.parent)}
			got.Labelled = o.GetLabels()["templater.dev/controller"] == model.One
			for _, ref := range o.GetOwnerReferences() {
				got.Owned, got.Controls = ref.UID == "uid-p", *ref.Controller
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("looks (-want +got):\n%s", diff)
			}
		})
	}
}
