package controllers

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// TestTrimmedTemplateControllerSizeMatchesOriginal compares SizeOf the trimmed and the whole TemplateController.
func TestTrimmedTemplateControllerSizeMatchesOriginal(t *testing.T) {
	for _, kib := range []int{30, 100} {
		t.Run(fmt.Sprint(kib, " KiB"), func(t *testing.T) {
			tc := &v1.TemplateController{}
			if err := yaml.Unmarshal([]byte(sized("a", "team", kib)), tc); err != nil {
				t.Fatal(err)
			}
			kept, err := store.Trim(packed(t, parse(t, sized("a", "team", kib))), nil)
			if err != nil {
				t.Fatal(err)
			}
			outline, err := store.Decode(kept)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := store.SizeOf(kept, outline), spec.Size(&tc.Spec); got != want {
				t.Errorf("%d KiB take %d bytes, want %d", kib, got, want)
			}
		})
	}
}

// TestLargeSpecIsReadOncePerGeneration puts a different outline into the cache, which shows where the next one comes
// from.
func TestLargeSpecIsReadOncePerGeneration(t *testing.T) {
	of := func(uid types.UID, generation int64, text string) *object.Object {
		o := parse(t, text)
		o.SetUID(uid)
		o.SetGeneration(generation)
		return packed(t, o)
	}
	const kib = 40
	small, other := sized("a", "team", 22), with(t, sized("a", "team", kib), "name: config", "name: other")
	for why, row := range map[string]struct {
		uid        types.UID
		generation int64
		kept       string
		want       string
	}{
		"the same generation":   {"u", 3, other, "other"},
		"another generation":    {"u", 2, other, "config"},
		"another object":        {"v", 3, other, "config"},
		"a small spec was kept": {"u", 3, small, "config"},
	} {
		t.Run(why, func(t *testing.T) {
			kept, err := store.Trim(of(row.uid, row.generation, row.kept), nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := store.Trim(of("u", 3, sized("a", "team", kib)), kept)
			if err != nil {
				t.Fatal(err)
			}
			tc, err := store.Decode(got)
			if err != nil {
				t.Fatal(err)
			}
			if name := tc.Spec.Children[0].Name; name != row.want || got.Int("size") == 0 {
				t.Errorf("the outline is that of %s, want %s", name, row.want)
			}
		})
	}
}

// large returns a TemplateController whose spec is not cached.
func large(name string, kib int) string { return sized(name, "team", kib) }

// compilations counts the compilations of each TemplateController.
func (c *cluster) compilations() map[string]int {
	compiled := map[string]int{}
	c.controllers.checker.Lint = func(pause func() error, tc *v1.TemplateController, before *spec.Compiled, known openapi.Set) (lint.Result, error) {
		if before == nil {
			compiled[tc.Name]++
		}
		return lint.Recheck(pause, tc, before, known)
	}
	return compiled
}

func TestLargeTemplateControllerIsReadOncePerChange(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(large("a", 40))
	c.KubectlApply(with(t, anApp, "namespace: ns", "namespace: a"))
	wantRequests(t, "a new one", c.Settle(), "get templatecontrollers a", "team:deployer: create configmaps a", "team:deployer: status apps a")
	c.controllers.queue.Add("a")
	wantRequests(t, "another look", c.Run())
	c.KubectlEdit(request.Location{Resource: v1.Resource, Name: "a"}, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "b"}) })
	wantRequests(t, "a label", c.Run())
	c.controllers.KindLearned(schema.GroupKind{Group: "example.org", Kind: "App"})
	wantRequests(t, "news of a kind", c.Settle())
	c.KubectlApply(large("a", 50))
	wantRequests(t, "a change", c.Settle(), "get templatecontrollers a")
	c.start()
	wantRequests(t, "a restart", c.Settle(), "get templatecontrollers a")
}

func TestRejectedForMemoryIsReadWhenMemoryIsFree(t *testing.T) {
	c := newCluster(t)
	c.room = 4 * 100 << 10 // 100 KiB per tenant
	c.start()
	c.KubectlApply(large("a", 60))
	c.KubectlApply(large("b", 40))
	c.KubectlApply(with(t, anApp, "namespace: ns", "namespace: b"))
	c.Settle()
	child := c.Find("configmaps", "a")
	if child == nil {
		t.Fatal("there is no child")
	}
	c.KubectlApply(large("b", 70))
	wantRequests(t, "it grows beyond what is left", c.Settle(), "get templatecontrollers b")
	c.wantAccepted("b has no room", "a")
	c.start()
	wantRequests(t, "a restart", slices.Sorted(slices.Values(c.Settle())), "get templatecontrollers a", "get templatecontrollers b") // in any order
	c.wantAccepted("b has no room after a restart", "a")

	compiled := c.compilations()
	c.RemoveNow(request.Location{Resource: v1.Resource, Name: "a"})
	wantRequests(t, "there is room", c.Settle(), "get templatecontrollers b")
	c.wantAccepted("b has room", "b")
	if now := c.Find("configmaps", "a"); now == nil || now.GetUID() != child.GetUID() {
		t.Error("the child was deleted meanwhile")
	}
	if compiled["b"] != 1 {
		t.Errorf("compiled are %v, want b once", compiled)
	}
}

func TestUnreadableTemplateControllerKeepsRunningSpec(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(large("a", 40))
	c.KubectlApply(with(t, anApp, "namespace: ns", "namespace: a"))
	c.Settle()
	at := request.Location{Resource: v1.Resource, Name: "a"}
	compiled := c.compilations()
	for why, fail := range map[string]func(){
		"the server does not answer": func() { c.Refuse["get templatecontrollers a"] = fmt.Errorf("no answer") },
		"the server has a later one, which the watch is to bring": func() {
			c.During = func() { c.Objects[at].SetGeneration(c.Objects[at].GetGeneration() + 1) }
		},
		"the server has another one of that name": func() {
			c.During = func() { c.Objects[at].SetUID("another") }
		},
	} {
		t.Run(why, func(t *testing.T) {
			clear(compiled)
			c.KubectlApply(with(t, large("a", 50), "#####", "# "+why+"\n      #"))
			fail()
			c.Run()
			c.Refuse, c.During = map[string]error{}, nil
			if len(compiled) > 0 {
				t.Errorf("compiled are %v", compiled)
			}
			if running := c.controllers.get("a"); running == nil || running.Rejected {
				t.Error("it does not run any more")
			}
			if c.Find("configmaps", "a") == nil {
				t.Error("the child is gone")
			}
			c.Objects[at].SetUID("uid-a")
		})
	}
}

// TestUncompiledSpecIsNotKeptInMemory checks the memory of a spec that is not accounted for.
func TestUncompiledSpecIsNotKeptInMemory(t *testing.T) {
	c := newCluster(t)
	c.room = 4 * 100 << 10
	c.start()
	manifest := large("a", 40)
	for why, manifest := range map[string]string{
		"there is no memory":       large("a", 200),
		"it has too many operands": with(t, manifest, "#####", strings.Repeat("{{1}}", 50_000)),
		"it is small, and invalid": with(t, sized("a", "team", 22), "#####", "{{ nonsense }}"),
	} {
		t.Run(why, func(t *testing.T) {
			c.KubectlApply(manifest)
			c.Settle()
			c.wantAccepted("it is refused", "")
			e := c.controllers.tracked["a"]
			if e.revised.newest.spec.Children[0].Template != "" || e.spec.Children[0].Name != "config" {
				t.Error("its text is kept")
			}
			if e.current == nil {
				t.Fatal("it does not report that on its parents")
			}
			if e.current.Spec.Children[0].Template != "" || e.current.Factory.Entries[0].Template != "" {
				t.Error("what runs keeps its text")
			}
		})
	}
}

func TestManyForeignFinalizersAreKept(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren"))
	at := request.Location{Resource: v1.Resource, Name: "apps"}
	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprintf("example.org/f%d", i))
	}
	c.KubectlEdit(at, func(o *unstructured.Unstructured) { o.SetFinalizers(many) })
	c.Settle()
	if diff := cmp.Diff(append(many, v1.FinalizerChildren), c.Objects[at].GetFinalizers()); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	c.WantQuiet("once it has the finalizer")
	now := metav1.NewTime(c.Clock.Now())
	c.KubectlEdit(at, func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(&now) })
	c.Settle()
	if diff := cmp.Diff(many, c.Objects[at].GetFinalizers()); diff != "" {
		t.Errorf("finalizers once it is deleted (-want +got):\n%s", diff)
	}
}

func TestOwnTemplateControllerWritesAreTrimmedInCache(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(large("a", 60))
	c.KubectlApply(with(t, withSpec(t, apps, "whenDeleted: DeleteChildren"), "name: apps", "name: apps, labels: {a: b}, finalizers: [example.org/x]"))
	c.Run() // the watch does not deliver these writes
	for _, name := range []string{"a", "apps"} {
		kept := c.controllers.Cached(name)
		if kept.Text("status", "conditions") != "" || kept.JSON("status", "conditions") == "" {
			t.Fatal("the status was not written")
		}
		if !kept.Noted(object.Trimmed) || len(kept.JSON("spec")) > store.MaxCached || kept.Label("a") != "" {
			t.Errorf("%s is kept as it is", name)
		}
	}
}
