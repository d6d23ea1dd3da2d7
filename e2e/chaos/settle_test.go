package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/e2e/chaos/model"
	"github.com/templater-dev/templater/e2e/cluster/audit"
)

func TestNeedless(t *testing.T) {
	write := func(resource, subresource, name string) audit.Event {
		var e audit.Event
		e.ObjectRef.Resource, e.ObjectRef.Subresource, e.ObjectRef.Namespace, e.ObjectRef.Name = resource, subresource, "chaos-a", name
		return e
	}
	b := &bed{failing: map[model.ParentID]bool{{Kind: "Report", Namespace: "chaos-a", Name: "bad"}: true}}
	for why, row := range map[string]struct {
		written []audit.Event
		want    int
	}{
		"the status of one that fails":       {[]audit.Event{write("reports", "status", "bad")}, 0},
		"twice":                              {[]audit.Event{write("reports", "status", "bad"), write("reports", "status", "bad")}, 1},
		"more than its status":               {[]audit.Event{write("reports", "", "bad")}, 1},
		"the status of one that is as it is": {[]audit.Event{write("reports", "status", "good")}, 1},
		"a child":                            {[]audit.Event{write("configmaps", "", "bad")}, 1},
	} {
		t.Run(why, func(t *testing.T) {
			if diff := cmp.Diff(row.want, len(b.needless(row.written))); diff != "" {
				t.Errorf("writes that are needless (-want +got):\n%s", diff)
			}
		})
	}
}
