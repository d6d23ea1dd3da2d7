package e2e

import (
	"cmp"
	"errors"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// kept is how the names of children end that are no part of a row's mistake.
const kept = "-kept"

// keptEntry makes such a child of each parent.
const keptEntry = `
- name: kept
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}` + kept + `", namespace: "@ns"}
    data: {a: b}
`

// keptRow gives the row a child that is there before the mistake and has to stay: each controller.yaml gets an
// entry, and a row that begins with its mistake a stage before it, with that entry alone.
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

// watched is where a spec says what it watches, on one line.
var watched = regexp.MustCompile(`(?m)^watch: \{.*\n`)

// before makes the stage before the mistake.
func (r *row) before() {
	watch := watched.FindString(r.files["bad/controller.yaml"])
	if r.widget || watch == "" || strings.Contains(watch, "Widget") {
		r.files["before/controller.yaml"] = "# the usual kind\n"
		r.files["before/parent.yaml"] = cmp.Or(r.files["bad/parent.yaml"], usualParent)
		return
	}
	// Of a kind of its own, some of which have no room for conditions.
	if !strings.Contains(watch, "Gadget") {
		watch += "status: {readyCondition: \"\"}\n"
	}
	r.files["before/controller.yaml"] = watch
	r.files["before/objects.yaml"] += "\n---\n" + r.files["bad/objects.yaml"]
}

// withKept puts the entry at the end of the children of a spec.
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

// firstChildren waits for the children that could go.
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
