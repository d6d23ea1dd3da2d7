package main

import (
	"bytes"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/proc"
	"github.com/templater-dev/templater/e2e/cluster/testcluster"
)

func TestDemoOutput(t *testing.T) {
	t.Parallel()
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
		"the controllers":                 `loadtests +LoadTest +1 +1 +0 +True`,
		"what it is going to do":          `== What is going to happen\n  1\. A Kubernetes cluster is (built from source and started: \d+ steps?|started, which is built already)`,
		"how to use the cluster":          `export KUBECONFIG=`,
		"what to read next":               `docs/tutorial/README\.md`,
		"how to stop it":                  `go run ./cluster down --name demo-test`,
		"what it does while it does it":   `== Run the operator`,
		"a log line, where Pods are real": `Hello from example-01|a simulated Pod has no log`,
	} {
		if !regexp.MustCompile(pattern).Match(out.Bytes()) {
			t.Errorf("the demo does not show %s: no %q in\n%s", what, pattern, out.Bytes())
		}
	}
	stopsWithTheCluster(t, cluster.Name)
}

func TestDemoMentionsOnlyBundledKubectl(t *testing.T) {
	f, err := findFolders("")
	if err != nil {
		t.Fatal(err)
	}
	for kubectl, want := range map[string]string{
		f.cache.Bin("kubectl"): "There is a kubectl in .cache/cluster/bin if you have none.\n",
		"/usr/bin/kubectl":     "",
	} {
		if got := (&demo{folders: f, place: place{kubectl: kubectl}}).ownKubectl(); got != want {
			t.Errorf("%s: got %q, want %q", kubectl, got, want)
		}
	}
}

// stopsWithTheCluster expects that the operator is running, and ends with the cluster.
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

// The demo shows the same on an existing cluster, and leaves it unchanged.
func TestDemoOnExistingCluster(t *testing.T) {
	t.Parallel()
	cluster, err := testcluster.Up(t.Context(), testcluster.Options{Name: "demo-given", Mode: layout.Kwok, Out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Down(); err != nil {
			t.Error(err)
		}
	})
	f, err := findFolders("")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	d, err := given(f, cluster.Kubeconfig(), &out)
	if err != nil {
		t.Fatal(err)
	}
	d.binary = filepath.Join(t.TempDir(), "templater")
	d.place.records, d.place.log = t.TempDir(), filepath.Join(t.TempDir(), "operator.log")
	before := names(t, d)
	if err := d.meet(t.Context(), strings.NewReader("n\n")); err == nil || !strings.Contains(err.Error(), "nothing was done") {
		t.Errorf("after the answer no: got error %v", err)
	}
	if err := runGiven(t.Context(), d, strings.NewReader("y\n")); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"What is going to happen on the cluster at https://127.0.0.1:", "Go on? [y/N]", "a simulated Pod has no log", "make demo-down KUBECONFIG=" + cluster.Kubeconfig()} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the demo does not say %q:\n%s", want, &out)
		}
	}
	if err := d.down(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if diff := cmp.Diff(before, names(t, d)); diff != "" {
		t.Errorf("the demo leaves things behind (-before +after):\n%s", diff)
	}
	if err := d.down(t.Context()); err != nil || !strings.Contains(out.String(), "Nothing of it is there.") {
		t.Errorf("a second time: got error %v", err)
	}
	d.mayNotMeetAnother(t)
}

// names returns the CRDs, namespaces and Deployments of a cluster.
func names(t *testing.T, d *demo) []string {
	t.Helper()
	text, err := d.output(t.Context(), "get", "crd,namespaces,deployments,clusterroles,clusterrolebindings", "-A", "-o", "name")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(text)
}

// mayNotMeetAnother checks that the demo refuses a cluster with another templater.
func (d *demo) mayNotMeetAnother(t *testing.T) {
	t.Helper()
	if _, err := d.output(t.Context(), "apply", "-k", "config/crd"); err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func() error{
		"demo": func() error { return d.meet(t.Context(), nil) }, "down": func() error { return d.down(t.Context()) },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "templater is installed on this cluster already") {
			t.Errorf("%s, where templater is installed: got error %v", name, err)
		}
	}
}

func TestExistingClusterErrorsAreActionable(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := given(folders{cache: layout.Cache{Dir: t.TempDir()}}, "x", io.Discard); err == nil || !strings.Contains(err.Error(), "no kubectl on the PATH: install one, or unset KUBECONFIG") {
		t.Errorf("without kubectl: got error %v", err)
	}
	t.Setenv("KUBECONFIG", "")
	if err := choose(t.Context(), testcluster.Options{}, true); err == nil || !strings.Contains(err.Error(), "make cluster-down") {
		t.Errorf("--down without a cluster: got error %v", err)
	}
}
