package main

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/proc"
	"github.com/templater-dev/templater/e2e/cluster/testcluster"
)

func TestDemoShowsWhatAUserWantsToSee(t *testing.T) {
	var out bytes.Buffer
	cluster := testcluster.Options{Name: "demo-test", Mode: layout.Kwok, Out: &out}
	t.Cleanup(func() {
		if _, err := testcluster.Down("", cluster.Name); err != nil {
			t.Error(err)
		}
	})
	if err := run(t.Context(), cluster); err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	for what, pattern := range map[string]string{
		"the object with its column":      `example-01   [0-9a-f]{8}-[-0-9a-f]+`,
		"its Pod":                         `example-01   [0-9a-f]{8}-[-0-9a-f]+   (Running|Succeeded)`,
		"the end of the load test":        `example-02 .*finished`,
		"the Pods of the load test":       `example-02-4 +0/1 +Completed`,
		"the report of what does not run": `broken-size Pending`,
		"the controllers":                 `loadtests +LoadTest +1 +0 +True`,
		"how to use the cluster":          `export KUBECONFIG=`,
		"how to stop it":                  `go run ./cluster down --name demo-test`,
		"what it does while it does it":   `== Run the operator`,
		"a log line, where Pods are real": `Hello from example-01|a played Pod has no log`,
	} {
		if !regexp.MustCompile(pattern).Match(out.Bytes()) {
			t.Errorf("the demo does not show %s: no %q in\n%s", what, pattern, out.Bytes())
		}
	}
	stopsWithTheCluster(t, cluster.Name)
}

// stopsWithTheCluster expects that the operator runs, and ends with the cluster.
func stopsWithTheCluster(t *testing.T, name string) {
	t.Helper()
	c, err := testcluster.Find("", name)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := proc.Recorded(c.RunDir())
	if err != nil {
		t.Fatal(err)
	}
	operator := ids[operatorName]
	if !operator.Alive() {
		t.Error("the demo does not leave the operator running")
	}
	if err := c.Down(); err != nil {
		t.Fatal(err)
	}
	if operator.Alive() {
		t.Error("the operator outlives the cluster")
	}
}
