package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/e2e/chaos/model"
	"github.com/templater-dev/templater/e2e/cluster/audit"
)

func TestNeedlessWrites(t *testing.T) {
	write := func(resource, subresource, name string) audit.Event {
		var e audit.Event
		e.ObjectRef.Resource, e.ObjectRef.Subresource, e.ObjectRef.Namespace, e.ObjectRef.Name = resource, subresource, "chaos-a", name
		return e
	}
	b := &harness{failing: map[model.ParentID]bool{{Kind: "Report", Namespace: "chaos-a", Name: "bad"}: true}}
	for why, row := range map[string]struct {
		written []audit.Event
		want    int
	}{
		"status of a failing parent":        {[]audit.Event{write("reports", "status", "bad")}, 0},
		"status of a failing parent, twice": {[]audit.Event{write("reports", "status", "bad"), write("reports", "status", "bad")}, 1},
		"a failing parent, not its status":  {[]audit.Event{write("reports", "", "bad")}, 1},
		"status of an up-to-date parent":    {[]audit.Event{write("reports", "status", "good")}, 1},
		"a child":                           {[]audit.Event{write("configmaps", "", "bad")}, 1},
	} {
		t.Run(why, func(t *testing.T) {
			if diff := cmp.Diff(row.want, len(b.needless(row.written))); diff != "" {
				t.Errorf("writes that are needless (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDifferencesDescribeWrites(t *testing.T) {
	written := func(resource, namespace, name string) audit.Event {
		var e audit.Event
		e.ObjectRef.Resource, e.ObjectRef.Namespace, e.ObjectRef.Name = resource, namespace, name
		return e
	}
	before, after := rightChecker().found, rightChecker().found
	after.controllers["many"].SetResourceVersion("8")
	after.parents[aReport].Object["status"] = map[string]any{"text": "late"}
	after.children[manyMap].Object["data"] = map[string]any{"text": "other"}
	delete(after.controllers, "one")
	for why, row := range map[string]struct {
		written audit.Event
		want    []string
	}{
		"a deleted TemplateController":  {written("templatecontrollers", "", "one"), []string{"templatecontrollers /one (", `"TemplateController"`}},
		"a parent":                      {written("reports", "chaos-a", "p"), []string{"reports chaos-a/p (", `"late"`}},
		"a child":                       {written("configmaps", "chaos-a", "many-p-0"), []string{"configmaps chaos-a/many-p-0 (", `"other"`}},
		"another resource version only": {written("templatecontrollers", "", "many"), []string{"templatecontrollers /many (-before +after):\n"}},
		"an unknown object":             {written("leases", "default", "l"), []string{"leases default/l (-before +after):\n"}},
	} {
		got := differences(before, after, []audit.Event{row.written, row.written})
		for _, want := range row.want {
			if strings.Count(got, row.want[0]) != 1 || !strings.Contains(got, want) || len(row.want) == 1 && !strings.HasSuffix(got, want) {
				t.Errorf("%s: got %s, want %q in it, once", why, got, row.want)
			}
		}
	}
}
