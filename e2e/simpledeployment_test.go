package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// needsNode skips a test that needs real Pods if kwok simulates the nodes.
func needsNode(t *testing.T) {
	t.Helper()
	if env.cluster != nil && env.cluster.Mode != layout.Node {
		leaveOut(t, "no Pod really runs on the nodes that kwok plays")
	}
}

// sampleScope is a scope for the samples, whose objects are deleted after the test.
func sampleScope(t *testing.T) *scope {
	t.Helper()
	needsNode(t)
	s := newScopeOf(t, "example.org")
	for _, plural := range []string{"simpledeployments", "loadtests"} {
		s.own(definitions, plural+".example.org")
		s.own(controllers, plural)
	}
	s.own(definitions, "orchestrs.kopf.dev")
	s.own(controllers, "orchestrs")
	s.own(clusterRoles, "templater-orchestr")
	return s
}

// simpleDeployment follows the page of the sample. An operator must be running.
func (s *scope) simpleDeployment() {
	t := s.t
	t.Helper()
	objects := s.in(schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "simpledeployments"})
	for _, step := range shownIn(t, "config/samples/simpledeployment/README.md", "Try it") {
		s.follow(step)
	}

	// Literally: the column is the UID of the Pod, and nothing else.
	first := waitFor(t, s.in(pods), "example-01", running)
	table := s.kubectl("get", "simdep")
	t.Logf("kubectl get simdep:\n%s", table)
	want := fmt.Sprintf("NAME         CHILDREN\nexample-01   %s\n", first.GetUID())
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("kubectl get simdep (-want +got):\n%s", diff)
	}
	log := s.kubectl("logs", "example-01")
	if line := "Hello from example-01, sleeping for 120 seconds\n"; !strings.Contains(log, line) {
		t.Errorf("log of the Pod: got %q, want the line %q", log, line)
	}

	second := s.replaced(first, func() {
		s.shell(`kubectl patch sd example-01 --type=merge -p '{"spec":{"sleepytime":"60"}}'`)
	})
	if log := s.kubectl("logs", "example-01"); !strings.Contains(log, "sleeping for 60 seconds\n") {
		t.Errorf("log of the Pod after the change: %q", log)
	}
	s.replaced(second, func() { s.shell("kubectl delete pod example-01 --wait=false") })

	out, err := env.shell(t.Context(), s.ns, `kubectl patch sd example-01 --type=merge -p '{"spec":{"sleepytime":"soon"}}'`).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "spec.sleepytime") {
		t.Errorf("a sleepytime that is no number: got %v, %s; want a refusal that names the field", err, out)
	}

	s.shell("kubectl delete sd example-01 --wait=false")
	waitGone(t, objects, "example-01")
	s.nothingLeft("templater.dev/controller=simpledeployments")
}

// replaced runs change and waits until another Pod runs in place of the old one, and the column shows it.
func (s *scope) replaced(old *unstructured.Unstructured, change func()) *unstructured.Unstructured {
	s.t.Helper()
	change()
	pod := waitFor(s.t, s.in(pods), old.GetName(), func(o *unstructured.Unstructured) error {
		if o.GetUID() == old.GetUID() {
			return errors.New("the old Pod is still there")
		}
		return running(o)
	})
	eventually(s.t, soon, func() error {
		want := fmt.Sprintf("NAME         CHILDREN\nexample-01   %s\n", pod.GetUID())
		return same("kubectl get simdep", want, s.kubectl("get", "simdep"))
	})
	return pod
}

func running(pod *unstructured.Unstructured) error {
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	if phase != "Running" || pod.GetDeletionTimestamp() != nil {
		return fmt.Errorf("Pod %s is %s", pod.GetName(), phase)
	}
	return nil
}

// nothingLeft waits until no object in the test's namespace, of any child kind, has the label.
func (s *scope) nothingLeft(selector string) {
	s.t.Helper()
	eventually(s.t, soon, func() error {
		for _, resource := range []schema.GroupVersionResource{pods, configMaps, services, deployments} {
			list, err := s.in(resource).List(s.t.Context(), metav1.ListOptions{LabelSelector: s.expand(selector)})
			if err != nil {
				return err
			}
			if len(list.Items) > 0 {
				return fmt.Errorf("%d %s are left, such as %s", len(list.Items), resource.Resource, list.Items[0].GetName())
			}
		}
		return nil
	})
}
