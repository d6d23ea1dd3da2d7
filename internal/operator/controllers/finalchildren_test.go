package controllers

import (
	"strings"
	"testing"
)

// backup is a Job that is made before the children of a deleted parent go.
const backup = `
    children:
    - name: backup
      template: |
        apiVersion: batch/v1
        kind: Job
        metadata: {name: backup}
        spec: {suspend: {{ eq (len .children.maps) 0 }}}
`

// backedUp returns apps with backup, and more lines of spec.finalize.
func backedUp(t *testing.T, more ...string) string {
	t.Helper()
	text := "spec:\n  finalize:\n    order: Reverse\n"
	for _, line := range more {
		text += "    " + line + "\n"
	}
	return with(t, apps, "spec:\n", text+strings.TrimPrefix(backup, "\n"))
}

func TestFinalizeChildrenMayBeWrong(t *testing.T) {
	for want, spec := range map[string]string{
		"spec.finalize.children[maps]: an entry of spec.children has the same name: rename one of the two":                    with(t, backedUp(t), "- name: backup", "- name: maps"),
		"spec.finalize.children[backup].dependsOn names no entry of spec.finalize.children: there is no maps; there are none": with(t, backedUp(t), "- name: backup", "- name: backup\n      dependsOn: [maps]"),
		"spec.children[maps]: the template reads .children.backup, whose objects are only created when the parent is deleted: read it in the status template or in spec.finalize.children": with(t, backedUp(t),
			"{{ range .spec.names }}", "{{ if .children.backup }}{{ end }}\n      {{ range .spec.names }}"),
	} {
		c := newCluster(t)
		c.apply(spec)
		c.run()
		if got := c.condition("templatecontrollers", "apps", "Accepted"); got != "False InvalidSpec: "+want {
			t.Errorf("condition %q, want %q", got, want)
		}
	}
}
