package e2e

import (
	"cmp"
	"errors"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// kept is the name suffix of children that are unrelated to a row's mistake.
const kept = "-kept"

// keptEntry creates such a child of each parent.
const keptEntry = `
- name: kept
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}` + kept + `", namespace: "@ns"}
    data: {a: b}
`

// keptRow gives the row a child that exists before the mistake and must be kept: it adds a child template to each
// controller.yaml, and a stage "before", with only that child template, to a row that begins with its mistake.
func (r *row) keptRow() {
	if !r.has("before/controller.yaml") {
		r.before()
	}
	for name, text := range r.files {
		if strings.HasSuffix(name, "/controller.yaml") {
			r.files[name] = withKept(text)
		}
	}
}

// watched matches the watch field of a spec, on one line.
var watched = regexp.MustCompile(`(?m)^watch: \{.*\n`)

// before adds the stage "before".
func (r *row) before() {
	watch := watched.FindString(r.files["bad/controller.yaml"])
	if r.widget || watch == "" || strings.Contains(watch, "Widget") {
		r.files["before/controller.yaml"] = "# the usual kind\n"
		r.files["before/parent.yaml"] = cmp.Or(r.files["bad/parent.yaml"], usualParent)
		return
	}
	// A custom kind; some of these have no conditions in their schema.
	if !strings.Contains(watch, "Gadget") {
		watch += "status: {readyCondition: \"\"}\n"
	}
	r.files["before/controller.yaml"] = watch
	r.files["before/objects.yaml"] += "\n---\n" + r.files["bad/objects.yaml"]
}

// withKept appends the child template to the children of a spec.
func withKept(spec string) string {
	head, children, found := strings.Cut("\n"+spec, "\nchildren:\n")
	if !found {
		return spec + "children:" + keptEntry
	}
	end := regexp.MustCompile(`(?m)^[a-z]`).FindStringIndex(children)
	if end == nil {
		return head + "\nchildren:\n" + children + keptEntry
	}
	return head + "\nchildren:\n" + children[:end[0]] + keptEntry + children[end[0]:]
}

// firstChildren waits for the children that the mistake could delete.
func (r *row) firstChildren() map[types.UID]string {
	r.t.Helper()
	if r.has("before/none") {
		return nil
	}
	var children map[types.UID]string
	eventually(r.t, slow, func() error {
		if children = r.children(); len(children) == 0 {
			return errors.New("there are no children that could go")
		}
		return nil
	})
	return children
}
