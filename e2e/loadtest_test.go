package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// loadTest follows the page of the sample. An operator must be running.
func (s *scope) loadTest() {
	t := s.t
	t.Helper()
	var states *recorder
	watched := filepath.Join(t.TempDir(), "watched")
	for _, step := range shownIn(t, "config/samples/loadtest/README.md", "Try it") {
		switch {
		case strings.Contains(step.command, " -w "): // ends with the test
			command := env.shell(t.Context(), s.ns, "exec "+strings.Replace(step.command, "kubectl", `"$KUBECTL" --kubeconfig "$CONFIG" --namespace "$NAMESPACE"`, 1))
			out, err := os.Create(watched)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			command.Stdout = out
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			s.waitState("finished")
			eventually(t, soon, func() error { // kubectl may lag
				if text := read(t, watched); !strings.Contains(text, "finished") {
					return fmt.Errorf("%s shows no end: %s", step.command, text)
				}
				return nil
			})
			if err := command.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = command.Wait() // it was killed
			// It may have started before the first state was set, or after it was left.
			if page, cluster := distinct(step.output), without(distinct(read(t, watched)), "<none>"); cluster != page && cluster != without(page, "pending") {
				t.Errorf("%s: got %s, want %s", step.command, cluster, page)
			}
		default:
			if strings.Contains(step.command, "example.yaml") {
				states = record(t, s.in(loadTests), "")
			}
			s.follow(step)
		}
	}
	waitSeen(t, states, "pending", "executing", "finished")
	t.Logf("kubectl get ld:\n%s", s.kubectl("get", "ld"))
	s.checkChildrenColumn(5)

	// A spec change: every old Pod is deleted before the first new one is created.
	podEvents := record(t, s.in(pods), "loadtest=example-02")
	old := names(s.list(s.in(pods), "loadtest=example-02"))
	s.shell(`kubectl patch ld example-02 --type=merge -p '{"spec":{"replicas":3}}'`)
	s.waitState("finished")
	waitSeen(t, states, "pending", "executing", "finished", "pending", "executing", "finished")
	var order []string
	eventually(t, soon, func() error { // the watch may lag
		if order = comesAndGoes(podEvents); len(order) < 8 {
			return fmt.Errorf("Pods that came and went: %v", order)
		}
		return nil
	})
	t.Logf("5 Pods replaced by 3: %v", order)
	if len(order) != 8 {
		t.Fatalf("Pods that came and went: got %v, want 5 that go and 3 that come", order)
	}
	gone, come := order[:5], order[5:]
	slices.Sort(gone)
	slices.Sort(come)
	if diff := cmp.Diff(prefixed("-", old), gone); diff != "" {
		t.Errorf("the first five events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(prefixed("+", old[:3]), come); diff != "" {
		t.Errorf("the last three events (-want +got):\n%s", diff)
	}
	s.checkChildrenColumn(3)

	// Failures of several kinds.
	for _, patch := range []string{
		`{"spec":{"test":{"method":"POST"}}}`,
		`{"spec":{"test":{"method":"GET","path":"/nothing/here"}}}`,
		`{"spec":{"test":{"path":"/","serviceName":"nobody-answers"}}}`,
	} {
		before := len(statesOf(states))
		s.shell(`kubectl patch ld example-02 --type=merge -p '` + patch + `'`)
		s.waitState("failed")
		var since []string
		eventually(t, soon, func() error { // the watch may lag
			if since = statesOf(states)[before:]; len(since) == 0 || since[len(since)-1] != "failed" {
				return fmt.Errorf("states after %s: %v", patch, since)
			}
			return nil
		})
		t.Logf("%s: %v", patch, since)
		if len(since) < 2 || since[0] != "pending" || since[len(since)-1] != "failed" || slices.Contains(since, "finished") {
			t.Errorf("states after %s: got %v, want pending … failed", patch, since)
		}
	}

	s.shell("kubectl delete ld example-02 --wait=false")
	waitGone(t, s.in(loadTests), "example-02")
	s.nothingLeft("templater.dev/controller=loadtests")
}

var loadTests = schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "loadtests"}

// waitState waits until the object has the state for its current generation.
func (s *scope) waitState(state string) {
	s.t.Helper()
	eventually(s.t, soon, func() error {
		o, err := s.in(loadTests).Get(s.t.Context(), "example-02", getOptions)
		if err != nil {
			return err
		}
		if got := stateOf(o); got != state || observed(o) != o.GetGeneration() {
			return fmt.Errorf("state %s of generation %d: want %s of %d", got, observed(o), state, o.GetGeneration())
		}
		return nil
	})
}

// waitSeen waits until a watch, which may lag, has observed exactly these states.
func waitSeen(t *testing.T, r *recorder, want ...string) {
	t.Helper()
	eventually(t, soon, func() error {
		if diff := cmp.Diff(want, statesOf(r)); diff != "" {
			return fmt.Errorf("states (-want +got):\n%s", diff)
		}
		return nil
	})
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func stateOf(o *unstructured.Unstructured) string {
	state, _, _ := unstructured.NestedString(o.Object, "status", "state")
	return state
}

// statesOf returns the observed states, without consecutive duplicates.
func statesOf(r *recorder) []string {
	var out []string
	for _, event := range r.all() {
		if o, ok := event.Object.(*unstructured.Unstructured); ok && stateOf(o) != "" {
			out = append(out, stateOf(o))
		}
	}
	return slices.Compact(out)
}

// comesAndGoes returns "+name" and "-name" for the creations and deletions observed by a watch.
func comesAndGoes(r *recorder) []string {
	var out []string
	for _, event := range r.all() {
		o, ok := event.Object.(*unstructured.Unstructured)
		switch {
		case ok && event.Type == watch.Added:
			out = append(out, "+"+o.GetName())
		case ok && event.Type == watch.Deleted:
			out = append(out, "-"+o.GetName())
		}
	}
	return out
}

// checkChildrenColumn expects the column CHILDREN to contain the UIDs of that many Pods.
func (s *scope) checkChildrenColumn(count int) {
	s.t.Helper()
	eventually(s.t, soon, func() error {
		var uids []string
		for _, pod := range s.list(s.in(pods), "loadtest=example-02") {
			uids = append(uids, `"`+string(pod.GetUID())+`"`)
		}
		if len(uids) != count {
			return fmt.Errorf("%d Pods, want %d", len(uids), count)
		}
		want := []string{"NAME", "CHILDREN", "STATE", "example-02", "[" + strings.Join(uids, ",") + "]", "finished"}
		return same("kubectl get ld", want, strings.Fields(s.kubectl("get", "ld")))
	})
}

func names(objects []unstructured.Unstructured) []string {
	var out []string
	for _, o := range objects {
		out = append(out, o.GetName())
	}
	slices.Sort(out)
	return out
}

func prefixed(prefix string, all []string) []string {
	var out []string
	for _, s := range all {
		out = append(out, prefix+s)
	}
	return out
}

// without drops the lines that contain the word.
func without(text, word string) string {
	lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool { return strings.Contains(line, word) })
	return strings.Join(lines, "")
}

// distinct drops lines that repeat the previous one.
func distinct(text string) string {
	return strings.Join(slices.Compact(strings.SplitAfter(text, "\n")), "")
}
