package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// soon is the timeout for something that takes about a second. The garbage collector of a new cluster has taken 40 s,
// and a busy machine takes several times as long.
const soon = 3 * time.Minute

// collectorSoon is the timeout for the garbage collector. It stalls for minutes while other tests create and delete
// CRDs, because it waits for the watch of each.
const collectorSoon = 8 * time.Minute

// eventually ends the test if check has not returned nil within the limit. It shows the last error of check.
func eventually(t *testing.T, limit time.Duration, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := poll.Until(ctx, 50*time.Millisecond, check); err != nil {
		t.Fatalf("after %s: %v", limit, err)
	}
}

// waitFor returns the object once check accepts it; it may not exist at first. A nil check accepts any object.
func waitFor(t *testing.T, in dynamic.ResourceInterface, name string, check func(*unstructured.Unstructured) error) *unstructured.Unstructured {
	t.Helper()
	var got *unstructured.Unstructured
	eventually(t, soon, func() error {
		o, err := in.Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && check != nil {
			err = check(o)
		}
		got = o
		return err
	})
	return got
}

// waitGone waits until the named object does not exist.
func waitGone(t *testing.T, in dynamic.ResourceInterface, name string) {
	t.Helper()
	eventually(t, collectorSoon, func() error {
		o, err := in.Get(t.Context(), name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil:
			err = fmt.Errorf("is still there, with the finalizers %q, the owners %v, since %v", o.GetFinalizers(), o.GetOwnerReferences(), o.GetDeletionTimestamp())
		}
		return fmt.Errorf("%s: %w", name, err)
	})
}

// condition returns an error unless the condition has that status and, if not empty, that reason.
func condition(o *unstructured.Unstructured, conditionType, status, reason string) error {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range list {
		c, _ := item.(map[string]any)
		if c["type"] != conditionType {
			continue
		}
		if c["status"] != status || reason != "" && c["reason"] != reason {
			return fmt.Errorf("condition %s of %s: %v %v: %v; want %s %s", conditionType, o.GetName(), c["status"], c["reason"], c["message"], status, reason)
		}
		if g, ok := c["observedGeneration"].(int64); ok && g != o.GetGeneration() {
			return fmt.Errorf("condition %s of %s is of generation %d, the object of %d", conditionType, o.GetName(), g, o.GetGeneration())
		}
		return nil
	}
	return fmt.Errorf("%s has no condition %s", o.GetName(), conditionType)
}

// observed returns the observedGeneration of the Ready condition, or 0.
func observed(o *unstructured.Unstructured) int64 {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range list {
		if c, _ := item.(map[string]any); c["type"] == "Ready" {
			generation, _ := c["observedGeneration"].(int64)
			return generation
		}
	}
	return 0
}

// message returns the message of a condition, or "".
func message(o *unstructured.Unstructured, conditionType string) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range list {
		if c, _ := item.(map[string]any); c["type"] == conditionType {
			text, _ := c["message"].(string)
			return text
		}
	}
	return ""
}

// recorder records all events of a watch.
type recorder struct {
	mu     sync.Mutex
	events []watch.Event
}

// ready returns an error unless the object's Ready condition is True for its current generation.
func ready(o *unstructured.Unstructured) error { return condition(o, "Ready", "True", "") }

// record records events from now until the test ends.
func record(t *testing.T, in dynamic.ResourceInterface, selector string) *recorder {
	t.Helper()
	list, err := in.List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	w, err := in.Watch(t.Context(), metav1.ListOptions{LabelSelector: selector, ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	var reading sync.WaitGroup
	reading.Go(func() {
		for event := range w.ResultChan() {
			r.mu.Lock()
			r.events = append(r.events, event)
			r.mu.Unlock()
		}
	})
	t.Cleanup(func() { w.Stop(); reading.Wait() })
	return r
}

// all returns the events so far.
func (r *recorder) all() []watch.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]watch.Event(nil), r.events...)
}

// same returns an error with the difference, if any.
func same(what string, want, got any) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("%s (-want +got):\n%s", what, diff)
	}
	return nil
}

func sorted(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

var getOptions = metav1.GetOptions{}
