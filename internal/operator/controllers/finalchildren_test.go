package controllers

import (
	"testing"

	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestFinalizeChildrenMayBeWrong(t *testing.T) {
	for want, spec := range map[string]string{
		"spec.finalize.children[maps]: an entry of spec.children has the same name: rename one of the two":                    with(t, reconciletest.WithBackup(t), "- name: backup", "- name: maps"),
		"spec.finalize.children[backup].dependsOn names no entry of spec.finalize.children: there is no maps; there are none": with(t, reconciletest.WithBackup(t), "- name: backup", "- name: backup\n      dependsOn: [maps]"),
		"spec.children[maps]: the template reads .children.backup, whose objects are only created when the parent is deleted: read it in the status template or in spec.finalize.children": with(t, reconciletest.WithBackup(t),
			"{{ range .spec.names }}", "{{ if .children.backup }}{{ end }}\n      {{ range .spec.names }}"),
	} {
		t.Run(want, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(spec)
			c.Run()
			if got := c.Condition("templatecontrollers", "apps", "Accepted"); got != "False InvalidSpec: "+want {
				t.Errorf("condition %q, want %q", got, want)
			}
		})
	}
}
