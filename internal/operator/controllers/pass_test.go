package controllers

import (
	"testing"
)

func TestChildOfATemplateControllerThatWasReplacedDoesNotKeepItFromGoing(t *testing.T) {
	c := goesWith(t, apps, "", false)
	c.Remove(configMap("b"))
	other := parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: b}}")
	other.SetUID("uid-other")
	c.Store(configMap("b"), other) // the watch does not tell
	wantRequests(t, "it goes", c.Run(), "status apps one", "delete configmaps a", "delete configmaps b", "get configmaps b", "delete configmaps b", "get configmaps b")
	if got := c.Condition("templatecontrollers", "apps", "Ready"); got != "False Deleting: being deleted: waiting for its children to be deleted: ConfigMap ns/a; ConfigMap ns/b; if one is stuck, check its metadata.finalizers" {
		t.Errorf("ready condition %q, want no refusal", got)
	}
	wantRequests(t, "the watches tell", c.Settle(), "finalizers[] templatecontrollers apps")
	if c.Find("configmaps", "b") == nil {
		t.Error("an object of somebody else was deleted")
	}
}
