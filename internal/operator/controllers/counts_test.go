package controllers

import (
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// delays is a queue that records the delays of keys.
type delays struct {
	workqueue.TypedRateLimitingInterface[string]
	asked []time.Duration
}

func (d *delays) AddAfter(key string, after time.Duration) {
	d.asked = append(d.asked, after)
	d.TypedRateLimitingInterface.AddAfter(key, after)
}

func TestCountsSurviveRestart(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	recount := func() any {
		c.controllers.queue.Add("apps")
		c.Run()
		parents, _, _ := unstructured.NestedMap(c.Find("templatecontrollers", "apps").Object, "status", "parents")
		return parents["ready"]
	}
	if got := recount(); got != int64(1) {
		t.Fatalf("status.parents.ready is %v, want 1", got)
	}
	c.start()
	c.controllers.parents.ShutDown() // no parent has been reconciled yet
	if got := recount(); got != int64(1) {
		t.Errorf("status.parents.ready is %v right after a restart, want 1 still", got)
	}
	const early = time.Second
	c.Clock.SetTime(c.Clock.Now().Add(early))
	delays := &delays{TypedRateLimitingInterface: c.controllers.queue}
	c.controllers.queue = delays
	recount()
	if !slices.Contains(delays.asked, recountTime-early) {
		t.Errorf("looks again after %v, want %s: the queue keeps the soonest only", delays.asked, recountTime-early)
	}
	c.Clock.SetTime(c.Clock.Now().Add(recountTime))
	if got := recount(); got != int64(0) {
		t.Errorf("status.parents.ready is %v later, want what has been counted", got)
	}
}

// TestCountsDropOnlyAfterAllParentsAreReconciled deletes parents while no operator is running.
func TestCountsDropOnlyAfterAllParentsAreReconciled(t *testing.T) {
	for why, row := range map[string]struct {
		stay, unreadable bool
		want             int64
	}{
		"one stays":                     {stay: true, want: 1},
		"none stays":                    {want: 0},
		"those that are cannot be read": {stay: true, unreadable: true, want: 2},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(apps)
			c.KubectlApply(app)
			c.PutWithUID(newApp(withName("two"), withChildren("c")), "uid-two")
			total := func() int64 {
				c.controllers.queue.Add("apps") // counts are debounced
				c.Run()
				n, _, _ := unstructured.NestedInt64(c.Find("templatecontrollers", "apps").Object, "status", "parents", "total")
				return n
			}
			c.Run()
			if got := total(); got != 2 {
				t.Fatalf("status.parents.total is %d, want 2", got)
			}
			c.Remove(locationOf(parse(t, newApp(withName("two")))))
			if !row.stay {
				c.Remove(locationOf(parse(t, app)))
			}
			if row.unreadable {
				c.Silent[watch.Want{Resource: one.Resource, Role: watch.Parent}] = true
			}
			c.start()
			c.Run()
			if got := total(); got != row.want {
				t.Errorf("status.parents.total is %d, want %d", got, row.want)
			}
		})
	}
}

func TestUnobservedRemovedParentsAreNotCounted(t *testing.T) {
	key := queue.Key{Controller: "apps", Parent: types.NamespacedName{Namespace: "ns", Name: "one"}}
	at := locationOf(parse(t, app))
	for why, leave := range map[string]func(*cluster){
		"while the controller is suspended": func(c *cluster) {
			c.KubectlApply(withSpec(t, apps, "suspend: true"))
			c.Run()
			c.RemoveNow(at)
			c.Run()
			c.KubectlApply(apps)
		},
		"with their kind, during a reconciliation": func(c *cluster) {
			c.RemoveNow(at)
			c.Refuse["kind App"] = errors.New("gone")
			c.controllers.queue.Add("apps")
			c.Run()
			c.controllers.Count(key, status.ParentSummary{Ready: true}) // end of that reconciliation
			delete(c.Refuse, "kind App")
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(apps)
			c.KubectlApply(app)
			c.Run()
			c.Clock.SetTime(c.Clock.Now().Add(recountTime))
			c.RemoveNow(configMap("a")) // the garbage collector is fast, and the reconciliation that would restore them is slow
			c.RemoveNow(configMap("b"))
			leave(c)
			c.controllers.queue.Add("apps")
			c.Run()
			c.controllers.queue.Add("apps") // counts are debounced
			c.Run()
			total, _, _ := unstructured.NestedInt64(c.Find("templatecontrollers", "apps").Object, "status", "parents", "total")
			if total != 0 {
				t.Errorf("status.parents.total is %d, want 0", total)
			}
		})
	}
}

func TestMissingParentIsNotCounted(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.controllers.Count(queue.Key{Controller: "apps", Parent: configMapName("two")}, status.ParentSummary{Ready: true}) // its reconciliation outlived it
	if got := c.controllers.tracked["apps"].counts.Parents; got.Total != 1 {
		t.Errorf("counts %+v, want one parent", got)
	}
}
