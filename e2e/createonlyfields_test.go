package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// scaledWebs creates a Deployment whose label changes with each edit of the parent. It has 2 replicas at first. It is paused, so that edits start
// no rollouts.
const scaledWebs = `
watch: {apiVersion: "@group/v1", kind: Thing}
children:
- name: web
  FIELDS
  template: |
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: {{ .metadata.name }}
      labels: {round: "r{{ .spec.round }}"}
    spec:
      replicas: 2
      paused: true
      selector: {matchLabels: {app: "{{ .metadata.name }}"}}
      template:
        metadata: {labels: {app: "{{ .metadata.name }}"}}
        spec:
          nodeSelector: {no: node}
          terminationGracePeriodSeconds: 0
          containers:
          - {name: main, image: "busybox:1.36"}
`

// replicaHistory is what a watch and an autoscaler saw of Deployments, by name and then by resource version.
type replicaHistory struct {
	mu          sync.Mutex
	seen, wrote map[string]map[uint64]int64
	failed      error
}

func (h *replicaHistory) add(to map[string]map[uint64]int64, o *unstructured.Unstructured, replicas int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	version, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		h.failed = err
	}
	if to[o.GetName()] == nil {
		to[o.GetName()] = map[uint64]int64{}
	}
	to[o.GetName()][version] = replicas
}

// watch records all versions of the Deployments until ctx is done.
func (h *replicaHistory) watch(ctx context.Context, s *scope) {
	s.t.Helper()
	w, err := s.in(deployments).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	go func() {
		for event := range w.ResultChan() {
			o, ok := event.Object.(*unstructured.Unstructured)
			if !ok || event.Type == watch.Error {
				h.mu.Lock()
				h.failed = fmt.Errorf("the watch has ended: %v", event.Object)
				h.mu.Unlock()
				return
			}
			n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
			h.add(h.seen, o, n)
		}
	}()
}

// check reports each version whose number of replicas is not that of the last write of the autoscaler.
func (h *replicaHistory) check(t *testing.T, initial int64) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed != nil {
		t.Fatal(h.failed)
	}
	versions := 0
	for name, seen := range h.seen {
		want := initial
		wrote := h.wrote[name]
		all := slices.Concat(slices.Collect(maps.Keys(seen)), slices.Collect(maps.Keys(wrote)))
		slices.Sort(all)
		for _, version := range slices.Compact(all) {
			if n, ok := wrote[version]; ok {
				want = n
			}
			if n, ok := seen[version]; ok && n != want {
				t.Errorf("%s: version %d has %d replicas, want %d", name, version, n, want)
			}
			versions++
		}
	}
	t.Logf("%d versions of %d Deployments", versions, len(h.seen))
}

// scaleTo writes the scale subresource like an autoscaler: it reads the scale, and updates that version.
func (s *scope) scaleTo(h *replicaHistory, name string, replicas int64) error {
	for range 100 {
		scale, err := s.in(deployments).Get(s.t.Context(), name, metav1.GetOptions{}, "scale")
		if err != nil {
			return err
		}
		if err := unstructured.SetNestedField(scale.Object, replicas, "spec", "replicas"); err != nil {
			return err
		}
		after, err := s.in(deployments).Update(s.t.Context(), scale, metav1.UpdateOptions{FieldManager: "autoscaler"}, "scale")
		if err == nil {
			h.add(h.wrote, after, replicas)
			return nil
		}
	}
	return errors.New("the Deployment changes all the time")
}

// TestCreateOnlyFieldsAreNeverReset has an autoscaler scale Deployments while edits of their parents update them, while the field is handed over to
// the autoscaler, and while the operator restarts.
func TestCreateOnlyFieldsAreNeverReset(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	op := startOperator(t)
	s.controller(strings.Replace(scaledWebs, "  FIELDS\n", "", 1))
	const webs, rounds, restartAt = 8, 40, 20
	var names []string
	for i := range webs {
		names = append(names, fmt.Sprintf("web-%d", i))
		s.thing(names[i], `{round: 0}`)
	}
	h := &replicaHistory{seen: map[string]map[uint64]int64{}, wrote: map[string]map[uint64]int64{}}
	for _, name := range names {
		waitFor(t, s.in(deployments), name, nil)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h.watch(ctx, s)
	s.applyController("@id", strings.Replace(scaledWebs, "FIELDS", "createOnlyFields: [spec.replicas]", 1))
	for _, name := range names { // before that, templater reverts what an autoscaler does
		waitFor(t, s.in(deployments), name, released)
	}
	for round := 1; round <= rounds; round++ {
		var work sync.WaitGroup
		for i, name := range names {
			work.Go(func() {
				if err := s.scaleTo(h, name, int64(3+(round+i)%3)); err != nil {
					t.Error(err)
				}
			})
			work.Go(func() {
				_, err := s.things().Patch(t.Context(), name, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"round":%d}}`, round), metav1.PatchOptions{})
				if err != nil {
					t.Error(err)
				}
			})
		}
		if round == restartAt {
			op.Kill()
			op = startOperator(t)
		}
		work.Wait()
	}
	for _, name := range names {
		waitFor(t, s.in(deployments), name, func(o *unstructured.Unstructured) error {
			if got, want := o.GetLabels()["round"], fmt.Sprintf("r%d", rounds); got != want {
				return fmt.Errorf("it has label %s, want %s", got, want)
			}
			return released(o)
		})
	}
	op.quiet(2 * time.Second)
	before := mark(t)
	for _, name := range names {
		if err := s.scaleTo(h, name, 1); err != nil {
			t.Fatal(err)
		}
	}
	op.quiet(2 * time.Second)
	op.expectNoChildWrites("an autoscaler", before)
	s.applyController("@id", strings.Replace(scaledWebs, "FIELDS", `createOnlyFields: [spec.replicas, "metadata.annotations['a.b/c']"]`, 1))
	op.quiet(2 * time.Second)
	h.check(t, 2)
}

// released returns an error while templater owns replicas of a Deployment.
func released(o *unstructured.Unstructured) error {
	for _, entry := range o.GetManagedFields() {
		if strings.HasPrefix(entry.Manager, "templater/") && strings.Contains(entry.FieldsV1.GetRawString(), `"f:replicas"`) {
			return errors.New("templater owns its replicas")
		}
	}
	return nil
}
