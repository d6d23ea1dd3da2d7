package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestKindOfRunningSourceIsCurrent(t *testing.T) {
	gvk := schema.GroupVersionKind{Version: "v2", Kind: "ConfigMap"}
	cached := kind.Kind{Kind: "ConfigMap", Resource: schema.GroupVersionResource{Version: "v2", Resource: "cached"}}
	for why, row := range map[string]struct {
		sources map[schema.GroupKind]controller.Source
		want    string
	}{
		"there is no source":          {nil, "configmaps"},
		"it is of this version":       {map[schema.GroupKind]controller.Source{gvk.GroupKind(): {Kind: cached}}, "cached"},
		"it is of another version":    {map[schema.GroupKind]controller.Source{gvk.GroupKind(): {Kind: reconciletest.Kinds[gvk.GroupKind()]}}, "configmaps"},
		"its kind cannot be read now": {map[schema.GroupKind]controller.Source{gvk.GroupKind(): {Kind: kind.Kind{Kind: "ConfigMap"}}}, "configmaps"},
	} {
		t.Run(why, func(t *testing.T) {
			kind, err := (&controller.Controller{Caches: controller.Caches{Kinds: newCluster(t), Sources: row.sources}}).Resolve(gvk)
			if got := kind.Resource.Resource; err != nil || got != row.want || kind.Resource.Version != "v2" {
				t.Errorf("%v, %v; want %s", kind, err, row.want)
			}
		})
	}
}

func TestKnownKindsMatchSources(t *testing.T) {
	v1 := reconciletest.Kinds[schema.GroupKind{Kind: "ConfigMap"}]
	served := map[string]*watch.Cache{"": nil}
	for why, row := range map[string]struct {
		source  controller.Source
		settled bool
		known   bool
	}{
		"it is not known":                         {controller.Source{}, false, false},
		"the server has it again":                 {controller.Source{}, true, false},
		"it is known in that version":             {controller.Source{Kind: v1, Caches: served}, false, true},
		"it is known in another version":          {controller.Source{Kind: kind.Kind{Kind: "ConfigMap"}, Caches: served}, false, false},
		"it is known, and its version is settled": {controller.Source{Kind: kind.Kind{Kind: "ConfigMap"}, Caches: served}, true, true},
	} {
		t.Run(why, func(t *testing.T) {
			gk := schema.GroupKind{Kind: "ConfigMap"}
			c := &controller.Controller{Caches: controller.Caches{Sources: map[schema.GroupKind]controller.Source{gk: row.source}, Settled: map[schema.GroupKind]bool{gk: row.settled}}}
			if got := c.Known(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}); got != row.known {
				t.Errorf("known is %v, want %v", got, row.known)
			}
		})
	}
}

func TestChildMatchingOwnControllerIsRejected(t *testing.T) {
	const front = "labelSelector: {matchLabels: {tier: front}}"
	for _, row := range []struct {
		selector, labels string
		want             bool
	}{
		{front, "tier: front", true}, {front, "tier: back", false}, {front, "", false},
		{"labelSelector: {matchLabels: {app.kubernetes.io/managed-by: templater}}", "", true}, // a label that templater adds
		{front + ", fieldSelector: metadata.name=one", "tier: front", false},
	} {
		t.Run(row.selector+", labels {"+row.labels+"}", func(t *testing.T) {
			labels, want := row.labels, row.want
			c := newCluster(t)
			c.KubectlApply(with(t, apps, "kind: App}", "kind: App, "+row.selector+"}",
				"apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ . }}}\n      data: {text: {{ $.spec.text }}}",
				"apiVersion: example.org/v1\n      kind: App\n      metadata: {name: {{ . }}, labels: {"+labels+"}}"))
			c.KubectlApply(with(t, app, "tier: front", "tier: front, app.kubernetes.io/managed-by: templater"))
			c.Run()
			if got := strings.Contains(c.Condition("apps", "one", "Ready"), "matches spec.watch of its own TemplateController"); got != want {
				t.Errorf("%s, labels {%s}: refused: %v, want %v", row.selector, labels, got, want)
			}
		})
	}
}

func TestParentNestingDepthIsLimited(t *testing.T) {
	const deepest = 8
	for depth, want := range map[int]string{deepest - 1: "True Ready: all children are ready: 2", deepest: "False InvalidChild: children[maps]:3: nested too deeply: this child has 8 ancestors that are parents, "} {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(apps)
			c.KubectlApply(with(t, app, "metadata: {", fmt.Sprintf("metadata: {annotations: {templater.dev/depth: %q}, ", fmt.Sprint(depth))))
			c.Run()
			if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, want) {
				t.Errorf("depth %d: ready condition %q, want %q", depth, got, want)
			}
		})
	}
}
