package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/syntax"
)

func TestEveryTermIsExplained(t *testing.T) {
	count := map[Kind]int{}
	for _, e := range All() {
		count[e.Kind]++
		if e.Name == "" || e.About == "" || strings.ContainsAny(e.About+e.More, "`|") && e.Kind != Function && e.Kind != Code && e.Kind != Action && e.Kind != Field || strings.Contains(e.About, "\n") {
			t.Errorf("%+v is not explained", e)
		}
	}
	for _, kind := range Kinds {
		if count[kind] == 0 {
			t.Errorf("no %s", kind)
		}
	}
	for _, purpose := range []syntax.Purpose{syntax.ForChild, syntax.ForReadyWhen, syntax.ForSelect} {
		for _, key := range syntax.RootKeys(purpose).Names {
			if !slices.ContainsFunc(Find("."+key), func(e Entry) bool { return e.Kind == Key }) {
				t.Errorf(".%s is not explained", key)
			}
		}
	}
}

func TestFind(t *testing.T) {
	for word, want := range map[string]string{
		"default":                       "function default",
		"DEFAULT":                       "function default",
		"now":                           "function now",
		".children.db":                  "key .children",
		"spec":                          "key .spec",
		"childconflict":                 "reason ChildConflict",
		"TL001":                         "code TL001",
		"range":                         "action range",
		"Linted":                        "condition Linted",
		"NotAccepted":                   "reason NotAccepted",
		"spec.children":                 "field spec.children",
		"spec.children[web].template":   "field spec.children.template",
		"spec.related[].logs.tailLines": "field spec.related.logs.tailLines",
		"readyWhen":                     "field spec.children.readyWhen, field spec.finalize.children.readyWhen",
		"TemplateController":            "kind TemplateController",
		"tc":                            "kind TemplateController",
		"templatecontrollers":           "kind TemplateController",
		"NamespacedTemplateController":  "kind NamespacedTemplateController",
		"ntc":                           "kind NamespacedTemplateController",
		"namespacedtemplatecontrollers.templater.dev": "kind NamespacedTemplateController",
		"nothing": "",
	} {
		var got []string
		for _, e := range Find(word) {
			got = append(got, string(e.Kind)+" "+e.Name)
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s: got %q, want %q", word, text, want)
		}
	}
	for word, want := range map[string]string{"defaut": "default", "ChildConflct": "ChildConflict", "qqqqqq": ""} {
		if got := Nearest(word); got != want {
			t.Errorf("nearest to %s: got %q, want %q", word, got, want)
		}
	}
}

func TestCodeTextsContainNoMarkdownLinks(t *testing.T) {
	for _, e := range codes() {
		if strings.Contains(e.About+e.More, "](") {
			t.Errorf("%s is Markdown: %s", e.Name, e.More)
		}
	}
}

func TestFieldsDescribeTheirType(t *testing.T) {
	for word, want := range map[string]string{
		"spec.children":    "Takes a list of mappings.\nFields: adoption, createOnlyFields, deletionPolicy, dependsOn, name, prunePolicy, readyWhen, scope, template, updateStrategy.",
		"spec.whenDeleted": "Takes OrphanChildren, DeleteChildren.",
		"spec.suspend":     "Takes true or false.",
		"spec.helpers":     "Takes a string.",
		"spec.watch":       "Takes a mapping.",
	} {
		found := Find(word)
		if len(found) != 1 || !strings.Contains(found[0].More, want) || strings.Contains(found[0].About, "\n") {
			t.Errorf("%s: %+v, want %q", word, found, want)
		}
	}
}

func TestConditionsListTheirReasons(t *testing.T) {
	found := Find("Linted")
	if len(found) != 1 || found[0].More != "Reasons: NoWarnings, NotAccepted, Warnings." {
		t.Errorf("got %+v", found)
	}
}

func TestKindsDescribeTheirFields(t *testing.T) {
	for word, want := range map[string][]string{
		"tc":  {"Short name: tc.", "Fields of spec: children, "},
		"ntc": {"Short name: ntc.", "\nspec.crd: must not be set in a NamespacedTemplateController", "\nmetadata.name must be at most 60 characters"},
	} {
		t.Run(word, func(t *testing.T) {
			for _, e := range Find(word) {
				for _, text := range want {
					if !strings.Contains(e.More, text) {
						t.Errorf("%q is not in %q", text, e.More)
					}
				}
			}
		})
	}
}
