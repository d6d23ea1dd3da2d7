package controllers

import (
	"strings"
	"testing"
)

// TestContestedFieldsTellNoKeysFromData has two TemplateControllers write a field whose name is a value.
func TestContestedFieldsTellNoKeysFromData(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(statusOnly("xs", "color: { {{ .metadata.uid }}: red }"))
	c.KubectlApply(app)
	c.Settle()
	c.KubectlApply(statusOnly("ys", "color: { {{ .metadata.uid }}: blue }"))
	c.Settle()
	want := "False FieldOwned: .status.color.… is written by TemplateController xs"
	if got := c.writable("ys"); !strings.HasPrefix(got, want) {
		t.Errorf("condition %q, want %s", got, want)
	}
}
