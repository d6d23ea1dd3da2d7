package reconcile

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/watch"
)

func TestShapeFaults(t *testing.T) {
	for document, want := range map[string]string{
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: a-1}}":                   "",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: 'system:x'}}":     "",
		"{apiVersion: a/b/c, kind: ConfigMap, metadata: {name: x}}":                                "apiVersion is neither",
		"{apiVersion: a/, kind: ConfigMap, metadata: {name: x}}":                                   "apiVersion is neither",
		"{apiVersion: /v1, kind: ConfigMap, metadata: {name: x}}":                                  "apiVersion is neither",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: ''}}":                    "",
		"{apiVersion: v1, kind: ConfigMap}":                                                        "the document has no metadata.name",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, status: {}}":                       "status is not for a template",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: y}}":                        "metadata.labels is no mapping",
		"{kind: ConfigMap, metadata: {name: x}}":                                                   "the document has no apiVersion",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: a/services/s/proxy}}":    "metadata.namespace is no valid name",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: ..}}":                    "metadata.namespace is no valid name",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: 7}}":                     "metadata.namespace is no text",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: ../x}}":                                "metadata.name is no valid name",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, uid: u}}":                           "metadata.uid may not be set",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {templater.dev/child: x}}}": "metadata.labels holds a key of templater.dev/",
	} {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(document), &content); err != nil {
			t.Fatal(err)
		}
		got := shapeFault(content)
		if (want == "") != (got == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", document, got, want)
		}
	}
}

func TestNamespacesOfChildren(t *testing.T) {
	const away = "the child must be in its parent's namespace, because owner references do not cross namespaces: remove metadata.namespace"
	for why, row := range map[string]struct {
		parent, child bool // whether the kind has namespaces
		namespace     string
		want, fault   string
	}{
		"the parent's":                               {true, true, "", "ns", ""},
		"the parent's, as it says":                   {true, true, "ns", "ns", ""},
		"another one":                                {true, true, "other", "other", away},
		"one of a parent without":                    {false, true, "other", "other", ""},
		"none, of a parent without":                  {false, true, "", "", "a Child is namespaced and its parent is not: set metadata.namespace"},
		"none, of two kinds without":                 {false, false, "", "", ""},
		"one, of two kinds without":                  {false, false, "other", "other", "a Child is cluster-scoped: remove metadata.namespace"},
		"a kind without, of a parent in a namespace": {true, false, "", "", "a Child is cluster-scoped and cannot belong to the namespaced Parent: owner references do not cross that line; watch a cluster-scoped kind instead"},
	} {
		metadata := map[string]any{"name": "a"}
		if row.namespace != "" {
			metadata["namespace"] = row.namespace
		}
		content := map[string]any{"metadata": metadata}
		c := &controller{kind: kind.Kind{Kind: "Parent", Namespaced: row.parent}}
		fault := c.place(content, kind.Kind{Kind: "Child", Namespaced: row.child}, packed(t, parse(t, app)))
		if got := nameOf(content).Namespace; fault != row.fault || got != row.want {
			t.Errorf("%s: namespace %q and fault %q, want %q and %q", why, got, fault, row.want, row.fault)
		}
	}
}

func TestKindOfASourceIsCurrent(t *testing.T) {
	gvk := schema.GroupVersionKind{Version: "v2", Kind: "ConfigMap"}
	cached := kind.Kind{Kind: "ConfigMap", Resource: schema.GroupVersionResource{Version: "v2", Resource: "cached"}}
	for why, row := range map[string]struct {
		sources map[schema.GroupKind]source
		want    string
	}{
		"there is no source":          {nil, "configmaps"},
		"it is of this version":       {map[schema.GroupKind]source{gvk.GroupKind(): {kind: cached}}, "cached"},
		"it is of another version":    {map[schema.GroupKind]source{gvk.GroupKind(): {kind: fakeKinds[gvk.GroupKind()]}}, "configmaps"},
		"its kind cannot be read now": {map[schema.GroupKind]source{gvk.GroupKind(): {kind: kind.Kind{Kind: "ConfigMap"}}}, "configmaps"},
	} {
		kind, err := (&controller{kinds: newCluster(t), sources: row.sources}).resolve(gvk)
		if got := kind.Resource.Resource; err != nil || got != row.want || kind.Resource.Version != "v2" {
			t.Errorf("%s: %v, %v; want %s", why, kind, err, row.want)
		}
	}
}

func TestDepthOfAnObject(t *testing.T) {
	for annotation, want := range map[string]int{"": 0, "x": 0, "-1": 0, "99999999999999999999": 0, "0": 0, "1": 1, "7": 7} {
		o := parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
		o.SetAnnotations(map[string]string{v1.AnnotationDepth: annotation})
		if got := depthOf(packed(t, o)); got != want {
			t.Errorf("annotation %q: depth %d, want %d", annotation, got, want)
		}
	}
}

func TestKindsThatAreTakenUp(t *testing.T) {
	v1 := fakeKinds[schema.GroupKind{Kind: "ConfigMap"}]
	served := map[string]*watch.Cache{"": nil}
	for why, row := range map[string]struct {
		source  source
		settled bool
		want    int
	}{
		"it is not known":                         {source{}, false, 1},
		"the server has it again":                 {source{}, true, 1},
		"it is known in that version":             {source{kind: v1, caches: served}, false, 0},
		"it is known in another version":          {source{kind: kind.Kind{Kind: "ConfigMap"}, caches: served}, false, 1},
		"it is known, and its version is settled": {source{kind: kind.Kind{Kind: "ConfigMap"}, caches: served}, true, 0},
	} {
		gk := schema.GroupKind{Kind: "ConfigMap"}
		c := &controller{sources: map[schema.GroupKind]source{gk: row.source}, settled: map[schema.GroupKind]bool{gk: row.settled}}
		var d desire
		for range 2 {
			d.note(c, &wanted{content: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}})
		}
		if len(d.unknown) != row.want {
			t.Errorf("%s: %v are taken up, want %d", why, d.unknown, row.want)
		}
	}
}

func TestChildThatWouldBeAParentOfItsOwnController(t *testing.T) {
	const front = "labelSelector: {matchLabels: {tier: front}}"
	for _, row := range []struct {
		selector, labels string
		want             bool
	}{
		{front, "tier: front", true}, {front, "tier: back", false}, {front, "", false},
		{"labelSelector: {matchLabels: {app.kubernetes.io/managed-by: templater}}", "", true}, // a mark
		{front + ", fieldSelector: metadata.name=one", "tier: front", false},
	} {
		labels, want := row.labels, row.want
		c := newCluster(t)
		c.apply(with(t, apps, "kind: App}", "kind: App, "+row.selector+"}",
			"apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ . }}}\n      data: {text: {{ $.spec.text }}}",
			"apiVersion: example.org/v1\n      kind: App\n      metadata: {name: {{ . }}, labels: {"+labels+"}}"))
		c.apply(with(t, app, "tier: front", "tier: front, app.kubernetes.io/managed-by: templater"))
		c.run()
		if got := strings.Contains(c.condition("apps", "one", "Ready"), "would be watched by this very TemplateController"); got != want {
			t.Errorf("%s, labels {%s}: refused: %v, want %v", row.selector, labels, got, want)
		}
	}
}

func TestChainsOfControllersEnd(t *testing.T) {
	for depth, want := range map[int]string{deepest - 1: "True Ready: all children are ready: 2", deepest: "False InvalidChild: children[maps]:3: this child descends from 8 parents of templater: "} {
		c := newCluster(t)
		c.apply(apps)
		c.apply(with(t, app, "metadata: {", fmt.Sprintf("metadata: {annotations: {templater.dev/depth: %q}, ", fmt.Sprint(depth))))
		c.run()
		if got := c.condition("apps", "one", "Ready"); !strings.HasPrefix(got, want) {
			t.Errorf("depth %d: ready condition %q, want %q", depth, got, want)
		}
	}
}
