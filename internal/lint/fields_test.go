package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/config/schema"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/render/finding"
)

// TestSchemaErrorsAreReported says before what the API server would say.
func TestSchemaErrorsAreReported(t *testing.T) {
	known, err := Know()
	if err != nil {
		t.Fatal(err)
	}
	const watch = "watch: {apiVersion: v1, kind: ConfigMap}"
	const child = "children: [{name: a, template: '{apiVersion: v1, kind: Secret, metadata: {name: a}}'}]"
	for spec, want := range map[string][]string{
		watch + ", " + child:   nil,
		child:                  {"spec: watch is missing"},
		"watch: {kind: A}":     {"spec.watch: apiVersion is missing", "spec: at least one of children and status.template is required"},
		watch + ", status: {}": {"spec: at least one of children and status.template is required"},
		watch + ", children: [{name: A-b, template: ' '}]": {
			"spec.children[A-b].name: write a lower-case letter, then letters and digits, such as webServer", "spec.children[A-b].template: the template is empty",
		},
		"watch: {apiVersion: example.org, kind: shop, namespaces: [A_b]}, " + child: {
			"spec.watch.apiVersion: write a group and a version, such as apps/v1, or v1 for the core kinds",
			"spec.watch.kind: unknown kind shop in example.org", "spec.watch.kind: write a capital letter, then letters and digits, such as LoadTest",
			"spec.watch.namespaces[0]: write lower-case letters, digits and hyphens, with a letter or digit at both ends",
		},
		watch + ", children: [{name: a}]": {"spec.children[a]: template is missing"},
		watch + ", children: [{name: a, template: '{apiVersion: v1, kind: Secret, metadata: {name: a}}', deletionPolicy: orphan, updateStrategy: {type: Recreat}}]": {
			"spec.children[a].deletionPolicy: write Orphan or Delete; did you mean Orphan?", "spec.children[a].updateStrategy.type: write Apply, Recreate, CreateOnly or OnDelete; did you mean Recreate?",
		},
		watch + ", " + child + ", resyncPeriod: 1d":                                                      {"spec.resyncPeriod: must be a duration such as 90s or 1h30m, with the units h, m, s and ms, or 0s for never"}, // which is said once
		watch + ", " + child + ", finalize: {}":                                                          {"spec.finalize: nothing to do: set order to Reverse, or set children"},
		watch + ", " + child + ", finalize: {order: Reverse}":                                            nil,
		watch + ", finalize: {children: [{name: b, template: ' '}]}, " + child:                           {"spec.finalize.children[b].template: the template is empty"},
		watch + ", " + child + ", related: [{name: b, apiVersion: v1, kind: Secret, logs: {}}]":          {"spec.related[b].logs: logs is only allowed for Pods: remove logs, or set apiVersion: v1 and kind: Pod"},
		watch + ", " + child + ", related: [{name: b, apiVersion: v1, kind: Pod, logs: {tailLines: 0}}]": {"spec.related[b].logs.tailLines: write a number from 1 to 1000"},
		watch + ", " + child + ", delimiters: {left: '<', right: '>>'}":                                  {"spec.delimiters.left: too short: 1 characters, the minimum is 2"},
		watch + ", " + child + ", className: " + strings.Repeat("a", 51):                                 {"spec.className: too long: 51 characters; the limit is 50"},
		"watch: {apiVersion: x.k8s.io/v1, kind: Thing}, crd: {schema: {spec: {a: string}}, names: {shortNames: [Th_g], categories: [All]}}, " + child: {
			"spec.crd.names.categories[0]: write a lower-case letter, then lower-case letters, digits and hyphens, with a letter or digit at the end",
			"spec.crd.names.shortNames[0]: write a lower-case letter, then lower-case letters, digits and hyphens, with a letter or digit at the end",
			"spec.watch.apiVersion: x.k8s.io is a group of Kubernetes: the API server creates a CustomResourceDefinition in it only with the annotation api-approved.kubernetes.io, which templater does not set: use a group of a domain of yours",
		},
		"watch: {apiVersion: k8s.io.example.org/v1, kind: Thing}, crd: {schema: {spec: {a: string}}, names: {shortNames: [th], categories: [all]}}, " + child: nil,
		watch + ", children: [" + strings.Repeat("{name: a, template: x},", 65) + "]":                                                                         nil,
	} {
		set, err := manifest.Load([]string{manifest.Stdin}, strings.NewReader("apiVersion: templater.dev/v1\nkind: TemplateController\nmetadata: {name: a}\nspec: {"+spec+"}\n"))
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		all, _ := known.Check(set)
		var got []string
		for _, l := range all {
			got = append(got, l.Where+": "+l.Message)
		}
		if strings.Count(spec, "template: x") == 65 {
			if !slices.Contains(got, "spec.children: too many entries: 65; the limit is 64") {
				t.Errorf("65 entries: got %q", got)
			}
			continue
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
}

// everyNode calls do with each part of the schema, and where it is.
func everyNode(where string, n *schema.Node, do func(where string, n *schema.Node)) {
	if n == nil {
		return
	}
	do(where, n)
	everyNode(where+"[]", n.Items, do)
	for name, p := range n.Properties {
		everyNode(where+"."+name, p, do)
	}
}

// TestEveryPatternHasExplanation keeps regular expressions out of messages.
func TestEveryPatternHasExplanation(t *testing.T) {
	everyNode("", schema.TemplateController(), func(where string, n *schema.Node) {
		if n.Pattern != "" && patterns[n.Pattern] == "" {
			t.Errorf("%s: no words for %s", where, n.Pattern)
		}
	})
}

func TestLongNameIsRejected(t *testing.T) {
	name := strings.Repeat("a", 64)
	set, err := manifest.Load([]string{manifest.Stdin}, strings.NewReader("apiVersion: templater.dev/v1\nkind: TemplateController\nmetadata: {name: "+name+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	found := checkFields(set.Controllers[0].Content)
	if !slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Where == "metadata.name" && f.Code == finding.FieldValue }) {
		t.Errorf("found %+v", found)
	}
}

// TestEveryCRDValidationRuleIsImplemented holds the rules to those of the CustomResourceDefinition.
func TestEveryCRDValidationRuleIsImplemented(t *testing.T) {
	// elsewhere are those that spec.Compile has, too, and those about changes.
	elsewhere := []string{
		"must be a number from 1 to 2000, or a percentage such as 25%", "must be a number of parents, or a percentage from 0% to 100%",
		"the namespaces of all entries list more than 128 names: use namespaceSelector, or split the TemplateController",
		"rollingUpdate requires type Apply or Recreate: CreateOnly and OnDelete never update objects",
		"adoption: IfConsented cannot be combined with type Recreate, which could delete adopted objects",
		"createOnlyFields has no effect with type CreateOnly, which never updates objects: remove it",
		"onImmutable: Recreate requires type Apply: the other types update no objects in place",
		"set either schema or openAPIV3Schema",
		"must be at least 1s, or 0s to disable it", "must be at least 1s, or 0s for never",
		"onTimeout is no longer supported: the finalizer is always removed when timeout expires. To wait without a limit, as with Block, also remove timeout",
		"kind is immutable: delete this TemplateController and create another",
		"the group in apiVersion is immutable (the version may change): delete this TemplateController and create another",
	}
	known := map[string]bool{}
	everyNode("", schema.TemplateController(), func(where string, n *schema.Node) {
		for _, r := range slices.Concat(n.Rules, n.NamespacedRules) {
			known[r.Rule] = true
			if here := rules[r.Rule] != nil || outside[r.Rule] != nil; here == slices.Contains(elsewhere, r.Message) {
				t.Errorf("%s: the rule %s is checked here: %t, and elsewhere: %[3]t", where, r.Rule, here)
			}
		}
	})
	for rule := range rules {
		if !known[rule] {
			t.Errorf("the CustomResourceDefinition has no rule %s", rule)
		}
	}
}

// TestLintRejectsInvalidFields has a NamespacedTemplateController and a TemplateController that compile, but that the API server rejects.
func TestLintRejectsInvalidFields(t *testing.T) {
	const rest = `, spec: {watch: {apiVersion: v1, kind: ConfigMap}, children: [{name: a, template: "apiVersion: v1\nkind: Secret\n"}]}}`
	for text, want := range map[string]string{
		"{kind: NamespacedTemplateController, metadata: {name: a, namespace: ns}" + rest:                                                              "serviceAccountRef.name is required",
		"{kind: NamespacedTemplateController, metadata: {name: a}" + strings.Replace(rest, "ConfigMap", "ConfigMap, namespaces: [far]", 1):            "namespaces and namespaceSelector must not be set",
		"{kind: TemplateController, metadata: {name: a}" + strings.Replace(rest, "name: a", "name: a, deletionPolicy: Orphaned", 1):                   "write Orphan or Delete",
		"{kind: TemplateController, metadata: {name: ns.a}" + rest:                                                                                    "must not start with ns.",
		"{kind: TemplateController, metadata: {name: a, namespace: kustomize-sets-it}" + rest:                                                         "",
		"{kind: NamespacedTemplateController, metadata: {name: a}" + strings.Replace(rest, "spec: {", "spec: {serviceAccountRef: {name: robot}, ", 1): "",
	} {
		t.Run(text, func(t *testing.T) {
			set, err := manifest.Load([]string{manifest.Stdin}, strings.NewReader(strings.Replace(text, "{", "{apiVersion: templater.dev/v1, ", 1)))
			if err != nil {
				t.Fatal(err)
			}
			known, err := Know(set)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			result := known.CheckOne(set.Controllers[0])
			if r := result.Invalid(); r != nil {
				got = r.Message
			}
			if !strings.Contains(got, want) || want == "" && got != "" {
				t.Errorf("rejected by %q, want %q", got, want)
			}
			if key := set.Controllers[0].TemplateController.Key(); strings.HasPrefix(text, "{kind: T") && strings.Contains(key, "/") {
				t.Errorf("the key of a TemplateController is %s", key)
			}
		})
	}
}

// TestFieldsOutsideOfNamespaceAreLocated has fields of a NamespacedTemplateController that the API server rejects.
func TestFieldsOutsideOfNamespaceAreLocated(t *testing.T) {
	for why, row := range map[string]struct{ field, want string }{
		"an account of another namespace":  {"serviceAccountRef: {name: a, namespace: b}", "5:32 spec.serviceAccountRef.namespace"},
		"a kind":                           {"crd: {}", "5:3 spec.crd"},
		"other namespaces":                 {"watch: {apiVersion: v1, namespaces: [a], kind: Pod, namespaceSelector: {}}", "5:27 spec.watch.namespaces, 5:55 spec.watch.namespaceSelector"},
		"related objects of others":        {"related: [{name: a}, {name: b, namespaceSelector: {}}]", "5:34 spec.related[b].namespaceSelector"},
		"a child anywhere":                 {"children: [{name: a, scope: Namespaced}, {name: b, scope: Cluster}]", "5:54 spec.children[b].scope"},
		"a child without a name, anywhere": {"children: [{scope: Cluster}]", "5:15 spec.children[0].scope"},
		"a last child anywhere":            {"finalize: {children: [{name: a, scope: Cluster}]}", "5:35 spec.finalize.children[a].scope"},
	} {
		t.Run(why, func(t *testing.T) {
			set, err := manifest.Load([]string{manifest.Stdin}, strings.NewReader("apiVersion: templater.dev/v1\nkind: NamespacedTemplateController\nmetadata: {name: a}\nspec:\n  "+row.field+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			c := set.Controllers[0]
			var got []string
			for _, f := range checkFields(c.Content) {
				if e := c.Located(f.String()); e.Line == 5 && strings.Contains(row.want+",", " "+f.Where+",") {
					got = append(got, fmt.Sprintf("%d:%d %s", e.Line, e.Column, f.Where))
				}
			}
			if text := strings.Join(got, ", "); text != row.want {
				t.Errorf("got %q, want %q", text, row.want)
			}
		})
	}
}
