package reconcile

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/watch"
)

const app = `
apiVersion: example.org/v1
kind: App
metadata: {namespace: ns, name: one, labels: {tier: front}}
spec: {names: [a, b], text: hello}
`

// apps makes a ConfigMap for each of spec.names.
const apps = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children:
  - name: maps
    template: |
      {{ range .spec.names }}
      ---
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: {{ . }}}
      data: {text: {{ $.spec.text }}}
      {{ end }}
  status:
    template: |
      count: {{ len .children.maps }}
`

// with replaces text in a manifest; it must be there.
func with(t *testing.T, manifest string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(manifest, pairs[i]) {
			t.Fatalf("the manifest lacks %q", pairs[i])
		}
		manifest = strings.Replace(manifest, pairs[i], pairs[i+1], 1)
	}
	return manifest
}

func wantRequests(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: requests (-want +got):\n%s", what, diff)
	}
}

func TestFirstPassWritesEachChildAndTheStatusOnce(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	wantRequests(t, "first pass", c.run(), "create configmaps a", "create configmaps b", "status apps one")
	_, again := c.pass("apps", "one")
	wantRequests(t, "second pass, before the watch brings the writes", again)
	c.deliver()
	wantRequests(t, "after the watch brought the writes", c.run())

	child := c.get("configmaps", "a")
	if ref := metav1.GetControllerOf(child); ref == nil || ref.Name != "one" || ref.Kind != "App" || ref.UID != "uid-one" || !*ref.BlockOwnerDeletion {
		t.Errorf("owner reference is %v", ref)
	}
	want := map[string]string{v1.LabelController: "apps", v1.LabelChild: "maps", v1.LabelParentUID: "uid-one", v1.LabelManagedBy: "templater"}
	if diff := cmp.Diff(want, child.GetLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	status := c.get("apps", "one").Object["status"].(map[string]any)
	if status["count"] != int64(2) {
		t.Errorf("status.count is %v, want 2: the status sees the children of its own pass", status["count"])
	}
	if got, want := c.condition("apps", "one", "Ready"), "True Ready: all children are ready: 2"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}

func TestRestartOverQuietParentsWritesNothing(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.run()
	c.start()
	wantRequests(t, "restart", c.run())
}

// delays is a queue that writes down how long keys are to wait.
type delays struct {
	workqueue.TypedRateLimitingInterface[string]
	asked []time.Duration
}

func (d *delays) AddAfter(key string, after time.Duration) {
	d.asked = append(d.asked, after)
	d.TypedRateLimitingInterface.AddAfter(key, after)
}

func TestCountsSurviveARestart(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.run()
	recount := func() any {
		c.controllers.queue.Add("apps")
		c.run()
		parents, _, _ := unstructured.NestedMap(c.get("templatecontrollers", "apps").Object, "status", "parents")
		return parents["total"]
	}
	if got := recount(); got != int64(1) {
		t.Fatalf("status.parents.total is %v, want 1", got)
	}
	c.start()
	c.controllers.parents.ShutDown() // no parent has been looked at yet
	if got := recount(); got != int64(1) {
		t.Errorf("status.parents.total is %v right after a restart, want 1 still", got)
	}
	const early = time.Second
	c.clock.SetTime(c.clock.Now().Add(early))
	delays := &delays{TypedRateLimitingInterface: c.controllers.queue}
	c.controllers.queue = delays
	recount()
	if !slices.Contains(delays.asked, recountTime-early) {
		t.Errorf("looks again after %v, want %s: the queue keeps the soonest only", delays.asked, recountTime-early)
	}
	c.clock.SetTime(c.clock.Now().Add(recountTime))
	if got := recount(); got != int64(0) {
		t.Errorf("status.parents.total is %v later, want what has been counted", got)
	}
}

func TestParentsThatLeaveUnseenAreNotCounted(t *testing.T) {
	key := Key{"apps", types.NamespacedName{Namespace: "ns", Name: "one"}}
	at := place(fakeKinds[parse(t, app).GroupVersionKind().GroupKind()], parse(t, app))
	for why, leave := range map[string]func(*cluster){
		"while the controller is suspended": func(c *cluster) {
			c.apply(with(t, apps, "spec:\n", "spec:\n  suspend: true\n"))
			c.run()
			c.gone(at)
			c.run()
			c.apply(apps)
		},
		"with their kind, during a pass": func(c *cluster) {
			c.gone(at)
			c.refuse["kind App"] = errors.New("gone")
			c.controllers.queue.Add("apps")
			c.run()
			c.controllers.count(key, &tally{ready: true}) // the end of that pass
			delete(c.refuse, "kind App")
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(apps)
			c.apply(app)
			c.run()
			c.clock.SetTime(c.clock.Now().Add(recountTime))
			c.gone(configMap("a")) // the garbage collector is fast, and the pass that would restore them is slow
			c.gone(configMap("b"))
			leave(c)
			c.controllers.queue.Add("apps")
			c.run()
			c.controllers.queue.Add("apps") // counts are debounced
			c.run()
			total, _, _ := unstructured.NestedInt64(c.get("templatecontrollers", "apps").Object, "status", "parents", "total")
			if total != 0 {
				t.Errorf("status.parents.total is %d, want 0", total)
			}
		})
	}
}

func TestChangesAreFollowed(t *testing.T) {
	for why, row := range map[string]struct {
		change func(*testing.T, *cluster)
		want   []string
	}{
		"of the parent, one child of which differs": {
			func(t *testing.T, c *cluster) { c.apply(with(t, app, "[a, b]", "[a, b, c]")) },
			[]string{"create configmaps c", "status apps one"},
		},
		"of the parent, whose children all differ": {
			func(t *testing.T, c *cluster) { c.apply(with(t, app, "hello", "bye")) },
			[]string{"update configmaps a", "update configmaps b", "status apps one"}, // the status tells the generation
		},
		"of the parent, so that a child is no longer wanted": {
			func(t *testing.T, c *cluster) { c.apply(with(t, app, "[a, b]", "[a]")) },
			[]string{"delete configmaps b", "status apps one"},
		},
		"of the template": {
			func(t *testing.T, c *cluster) { c.apply(with(t, apps, "data: {text", "data: {more: x, text")) },
			[]string{"update configmaps a", "update configmaps b"},
		},
		"of the status template, so that a field goes": {
			func(t *testing.T, c *cluster) { c.apply(with(t, apps, "count:", "number:")) },
			[]string{"status apps one"},
		},
		"of the status alone, by somebody else": {
			func(_ *testing.T, c *cluster) {
				o := c.get("apps", "one").DeepCopy()
				o.Object["status"].(map[string]any)["count"] = int64(7)
				c.store(place(fakeKinds[o.GroupVersionKind().GroupKind()], o), o)
				c.deliver()
			},
			[]string{"status apps one"},
		},
		"of a child, by somebody who takes a field": {
			func(_ *testing.T, c *cluster) {
				o := c.get("configmaps", "a").DeepCopy()
				o.Object["data"] = map[string]any{"text": "other"}
				entries, _, _ := unstructured.NestedSlice(o.Object, "metadata", "managedFields")
				delete(entries[0].(map[string]any)["fieldsV1"].(map[string]any), "f:data")
				o.Object["metadata"].(map[string]any)["managedFields"] = entries
				c.store(configMap("a"), o)
				c.deliver()
			},
			[]string{"update configmaps a"},
		},
		"of a child, by somebody who adds a field of their own": {
			func(_ *testing.T, c *cluster) {
				o := c.get("configmaps", "a").DeepCopy()
				o.Object["data"].(map[string]any)["extra"] = "x"
				c.store(configMap("a"), o)
				c.deliver()
			},
			nil,
		},
		"of a child, which somebody deletes": {
			func(_ *testing.T, c *cluster) { c.gone(configMap("a")) },
			[]string{"create configmaps a"},
		},
		"of a child, which loses our label: it is found and brought in line": {
			func(_ *testing.T, c *cluster) {
				o := c.get("configmaps", "a").DeepCopy()
				o.SetLabels(nil)
				c.store(configMap("a"), o)
				c.deliver()
			},
			[]string{"create configmaps a", "get configmaps a", "update configmaps a"},
		},
		"of nothing": {func(*testing.T, *cluster) {}, nil},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(apps)
			c.apply(app)
			c.run()
			row.change(t, c)
			wantRequests(t, why, c.run(), row.want...)
			c.deliver()
			for range 2 { // a deleted child may still be there: it goes, and then all is quiet
				for at, o := range c.objects {
					if at.Resource.Resource == "configmaps" && !slices.Contains([]string{"a", "b", "c"}, at.Name) {
						c.gone(place(fakeKinds[o.GroupVersionKind().GroupKind()], o))
					}
				}
			}
			_, again := c.pass("apps", "one")
			wantRequests(t, "the pass after", again)
		})
	}
}

func TestNothingIsPrunedAfterAnError(t *testing.T) {
	for why, template := range map[string]string{
		"a template that fails":     `{{ fail "no" }}`,
		"a missing value":           `{{ .spec.nothing }}`,
		"no YAML":                   `a: [`,
		"an unknown kind":           "apiVersion: v1\nkind: Unknown\nmetadata: {name: x}",
		"an object without a name":  "apiVersion: v1\nkind: ConfigMap",
		"a template that waits":     `{{ wait "not yet" }}`,
		"a refused sibling":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: refused}",
		"a cluster-scoped child":    "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}",
		"a child elsewhere":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: other}",
		"a name that is no segment": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a/b}",
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(apps)
			c.apply(app)
			c.run()
			c.refuse["create configmaps refused"] = answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, secret)
			two := with(t, apps, "  status:\n", "  - name: more\n    template: |\n      "+strings.ReplaceAll(template, "\n", "\n      ")+"\n  status:\n", "range .spec.names", "range list")
			c.apply(two)
			for _, request := range c.run() {
				if strings.HasPrefix(request, "delete") {
					t.Errorf("request %q although not everything is known", request)
				}
			}
			if got := c.condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False ") || strings.Contains(got, secret) {
				t.Errorf("ready condition is %q", got)
			}
			if waits := why == "a template that waits"; waits == (len(c.events) > 0) {
				t.Errorf("Events: %v", c.events)
			}
			_, again := c.pass("apps", "one")
			again = slices.DeleteFunc(again, func(r string) bool { return r == "create configmaps refused" })
			wantRequests(t, "the pass after", again)
			c.apply(apps)
			c.run()
			if got, want := c.condition("apps", "one", "Ready"), "True Ready: all children are ready: 2"; got != want {
				t.Errorf("after the correction the ready condition is %q, want %q", got, want)
			}
		})
	}
}

func TestForeignObjectsAreLeftAlone(t *testing.T) {
	const other = `
apiVersion: v1
kind: ConfigMap
metadata:
  namespace: ns
  name: a
`
	owner := func(kind, name, uid string) string {
		return other + "  ownerReferences: [{apiVersion: example.org/v1, kind: " + kind + ", name: " + name + ", uid: " + uid + ", controller: true}]\n"
	}
	for why, row := range map[string]struct {
		there, want string
		retry       Retry
	}{
		"it belongs to nobody": {
			other, "False ChildConflict: ConfigMap ns/a exists already and belongs to nobody: templater does not take it; delete it, or choose another name in the template", RetrySlow,
		},
		"it belongs to another object": {
			owner("Other", "web", "u"), "False ChildConflict: ConfigMap ns/a exists already and belongs to Other web: templater does not take it; delete it, or choose another name in the template", RetrySlow,
		},
		"it belongs to another controller of the same parent": {
			owner("App", "one", "uid-one") + "  labels: {templater.dev/controller: second, templater.dev/parent-uid: uid-one}\n",
			"False ChildConflict: ConfigMap ns/a exists already and belongs to TemplateController second for App one: templater does not take it; delete it, or choose another name in the template", RetrySlow,
		},
		"it belongs to an earlier object of the parent's name": {
			owner("App", "one", "earlier"), "False Progressing: ConfigMap ns/a belongs to an earlier object of the parent's name; it is made anew once that one is collected", RetrySoon,
		},
		"it is being deleted": {
			other + "  deletionTimestamp: \"2026-01-01T00:00:00Z\"\n", "False Progressing: ConfigMap ns/a is being deleted; it is made anew once it is gone", RetrySoon,
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(apps)
			before := c.apply(row.there).DeepCopy()
			c.apply(app)
			wantRequests(t, "first pass", c.run(), "create configmaps a", "get configmaps a", "create configmaps b", "status apps one")
			if got := c.condition("apps", "one", "Ready"); got != row.want {
				t.Errorf("ready condition\n got %q\nwant %q", got, row.want)
			}
			if diff := cmp.Diff(before, c.get("configmaps", "a")); diff != "" {
				t.Errorf("the object changed:\n%s", diff)
			}
			result, _ := c.pass("apps", "one")
			if result.Retry != row.retry {
				t.Errorf("retry %v, want %v", result.Retry, row.retry)
			}
		})
	}
}

func TestRecreateDeletesAllBeforeItMakesOne(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, apps, "    template: |\n      {{ range", "    updateStrategy: {type: Recreate}\n    template: |\n      {{ range"))
	c.apply(app)
	c.run()
	c.deliver()
	c.apply(with(t, app, "hello", "bye"))
	wantRequests(t, "update", c.run(), "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one")
	if got, want := c.condition("apps", "one", "Ready"), "False Progressing: 0 of 2 children are ready"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	c.gone(configMap("a"))
	wantRequests(t, "one is gone", c.run(), "status apps one") // its count
	c.gone(configMap("b"))
	wantRequests(t, "both are gone", c.run(), "create configmaps a", "create configmaps b", "status apps one")
}

func TestRecreateReplacesAChildThatHasLostItsLabel(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, apps, "    template: |\n      {{ range", "    updateStrategy: {type: Recreate}\n    template: |\n      {{ range"))
	c.apply(app)
	c.run()
	steal := func() {
		o := c.get("configmaps", "a").DeepCopy()
		o.SetLabels(nil)
		c.store(configMap("a"), o)
		c.deliver()
	}
	steal()
	wantRequests(t, "it is as the template says", c.run(), "create configmaps a", "get configmaps a", "label configmaps a")
	c.apply(with(t, app, "[a, b]", "[a]")) // one child, so that none is replaced before
	c.run()
	c.gone(configMap("b"))
	c.run()
	steal()
	c.apply(with(t, with(t, app, "[a, b]", "[a]"), "hello", "bye"))
	wantRequests(t, "it is out of date, and may not be changed in place", c.run(), "create configmaps a", "get configmaps a", "delete-foreground configmaps a", "status apps one")
	delete(c.objects, configMap("a")) // as no watch shows
	_, requests := c.pass("apps", "one")
	wantRequests(t, "it is gone", requests, "create configmaps a", "status apps one")
}

func TestStrategiesThatLeaveEditsAloneGiveBackLabelsOnly(t *testing.T) {
	for _, strategy := range []string{"CreateOnly", "OnDelete", "Recreate"} {
		t.Run(strategy, func(t *testing.T) {
			c := newCluster(t)
			c.apply(with(t, apps, "    template: |\n      {{ range", "    updateStrategy: {type: "+strategy+"}\n    template: |\n      {{ range"))
			c.apply(app)
			c.run()
			labels := c.get("configmaps", "a").GetLabels()
			o := c.get("configmaps", "a").DeepCopy()
			o.SetLabels(map[string]string{"mine": "yes"})
			o.Object["data"] = map[string]any{"text": "edited"}
			c.store(configMap("a"), o)
			c.deliver()
			wantRequests(t, "a child without its labels", c.run(), "create configmaps a", "get configmaps a", "label configmaps a")
			labels["mine"] = "yes"
			if diff := cmp.Diff(labels, c.get("configmaps", "a").GetLabels()); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]any{"text": "edited"}, c.get("configmaps", "a").Object["data"]); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
			c.deliver()
			wantRequests(t, "again", c.run())
		})
	}
}

func TestSuspendStopsEverything(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.run()
	suspended := with(t, apps, "spec:\n", "spec:\n  suspend: true\n")
	c.apply(suspended)
	c.apply(with(t, app, "hello", "bye"))
	c.gone(configMap("a"))
	wantRequests(t, "suspended", c.run())
	if got, want := c.condition("templatecontrollers", "apps", "Ready"), "False Suspended: spec.suspend is true: nothing is created, changed or deleted"; got != want {
		t.Errorf("TemplateController's ready condition %q, want %q", got, want)
	}
	c.apply(apps)
	wantRequests(t, "resumed", c.run(), "create configmaps a", "update configmaps b", "status apps one")
}

func TestParentThatGoesIsLeftToTheGarbageCollector(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.run()
	c.deliver()
	c.gone(place(fakeKinds[parse(t, app).GroupVersionKind().GroupKind()], parse(t, app)))
	wantRequests(t, "deletion of the parent", c.run())
	result, _ := c.pass("apps", "one")
	if result.After <= 0 || result.After > collectorTime {
		t.Errorf("looks again after %v, want at most %v", result.After, collectorTime)
	}
	c.clock.SetTime(c.clock.Now().Add(collectorTime))
	_, requests := c.pass("apps", "one")
	wantRequests(t, "after a minute", requests, "get apps one", "delete configmaps a", "delete configmaps b")
	_, requests = c.pass("apps", "one")
	wantRequests(t, "after that", requests)
}

// The garbage collector takes an object for its predecessor when it misses the moment between the two.
func TestChildOfAnEarlierParentThatIsHiddenDoesNotStayForEver(t *testing.T) {
	owned := func(o *unstructured.Unstructured) { o.SetLabels(nil) }
	for why, row := range map[string]struct {
		change func(*unstructured.Unstructured)
		want   []string // after a minute
	}{
		"it is ours": {owned, []string{"create configmaps a", "get configmaps a", "delete configmaps a"}},
		"it has another owner": {func(o *unstructured.Unstructured) {
			owned(o)
			o.SetOwnerReferences(append(o.GetOwnerReferences(), metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"}))
		}, []string{"create configmaps a", "get configmaps a"}},
		"somebody else's work": {func(o *unstructured.Unstructured) { owned(o); o.SetManagedFields(nil) }, []string{"create configmaps a", "get configmaps a"}},
		"of a parent of that name in another group": {func(o *unstructured.Unstructured) {
			owned(o)
			refs := o.GetOwnerReferences()
			refs[0].APIVersion = "other.example.org/v1"
			o.SetOwnerReferences(refs)
		}, []string{"create configmaps a", "get configmaps a"}},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(apps)
			c.apply(with(t, app, "[a, b]", "[a]"))
			c.run()
			hidden := c.get("configmaps", "a").DeepCopy()
			row.change(hidden)
			c.gone(place(fakeKinds[parse(t, app).GroupVersionKind().GroupKind()], parse(t, app)))
			c.store(configMap("a"), hidden)
			c.apply(with(t, app, "[a, b]", "[a]"))
			parent := c.get("apps", "one").DeepCopy()
			parent.SetUID("uid-next")
			c.store(place(fakeKinds[parent.GroupVersionKind().GroupKind()], parent), parent)
			c.deliver()
			c.run()
			_, requests := c.pass("apps", "one")
			wantRequests(t, "at once", requests, "create configmaps a", "get configmaps a")
			c.clock.SetTime(c.clock.Now().Add(collectorTime))
			_, requests = c.pass("apps", "one")
			wantRequests(t, "after a minute", requests, row.want...)
		})
	}
}

func TestChildThatGoesWithItsParentIsNotMissed(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	parent := c.apply(app)
	c.run()
	c.deliver()
	c.controllers.patience = time.Hour
	c.gone(configMap("a")) // the watch of children is ahead
	wantRequests(t, "the child is gone", c.run())
	c.gone(place(fakeKinds[parent.GroupVersionKind().GroupKind()], parent))
	wantRequests(t, "the parent is gone", c.run())
	if c.get("configmaps", "a") != nil {
		t.Error("the child was made again for a parent that is gone")
	}
}

func TestParentThatStopsMatchingLosesItsChildren(t *testing.T) {
	selective := with(t, apps, "kind: App}", "kind: App, labelSelector: {matchLabels: {tier: front}}}")
	for why, restart := range map[string]bool{"while the operator runs": false, "while it is down": true} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(selective)
			c.apply(app)
			c.run()
			c.deliver()
			c.apply(with(t, app, "tier: front", "tier: back"))
			if restart {
				c.start()
			}
			wantRequests(t, "label gone", c.run(), "get apps one", "delete configmaps a", "delete configmaps b")
			c.deliver()
			wantRequests(t, "again", c.run())
			if !slices.Contains(c.events, "one Normal Leaving: TemplateController apps no longer selects this object: its children are deleted") {
				t.Errorf("Events: %v", c.events)
			}
		})
	}
	t.Run("Retain keeps them", func(t *testing.T) {
		c := newCluster(t)
		c.apply(with(t, selective, "    template: |\n      {{ range", "    prunePolicy: Retain\n    template: |\n      {{ range"))
		c.apply(app)
		c.run()
		c.deliver()
		c.apply(with(t, app, "tier: front", "tier: back"))
		wantRequests(t, "label gone", c.run(), "get apps one")
	})
	t.Run("a parent that is gone leaves them to the garbage collector", func(t *testing.T) {
		c := newCluster(t)
		c.apply(selective)
		c.apply(app)
		c.run()
		c.deliver()
		c.gone(place(fakeKinds[parse(t, app).GroupVersionKind().GroupKind()], parse(t, app)))
		wantRequests(t, "gone", c.run(), "get apps one")
	})
}

func TestParentReplacedByOneThatDoesNotMatchLeavesNoChildren(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, apps, "kind: App}", "kind: App, labelSelector: {matchLabels: {tier: front}}}"))
	c.apply(app)
	c.run()
	c.deliver()
	at := place(fakeKinds[parse(t, app).GroupVersionKind().GroupKind()], parse(t, app))
	delete(c.objects, at)
	next := c.apply(with(t, app, "tier: front", "tier: back"))
	next.SetUID("uid-next")
	wantRequests(t, "at once", c.run(), "get apps one")
	c.clock.SetTime(c.clock.Now().Add(collectorTime / 2))
	result, requests := c.pass("apps", "one")
	wantRequests(t, "while they are the garbage collector's", requests, "get apps one")
	if want := (Result{After: collectorTime / 2, Outcome: Waiting}); result != want {
		t.Errorf("got %+v, want %+v", result, want)
	}
	c.clock.SetTime(c.clock.Now().Add(collectorTime / 2))
	_, requests = c.pass("apps", "one")
	wantRequests(t, "after a minute", requests, "get apps one", "delete configmaps a", "delete configmaps b")
	_, requests = c.pass("apps", "one")
	wantRequests(t, "after that", requests)
	if len(c.events) > 0 {
		t.Errorf("the new parent has lost nothing; Events: %v", c.events)
	}
}

func TestKindThatGoesTakesItsChildren(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.run()
	c.deliver()
	c.refuse["kind App"] = &kube.NotFoundError{GVK: parse(t, app).GroupVersionKind()}
	delete(c.objects, place(fakeKinds[parse(t, app).GroupVersionKind().GroupKind()], parse(t, app)))
	c.controllers.queue.Add("apps")
	wantRequests(t, "the kind is gone", c.run())
	if got, want := c.condition("templatecontrollers", "apps", "Watching"), "False KindNotFound: the cluster has no kind App in example.org/v1: install its CustomResourceDefinition, or correct spec.watch; work begins by itself then"; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
	c.clock.SetTime(c.clock.Now().Add(collectorTime))
	c.controllers.enqueueAll(c.controllers.get("apps"))
	wantRequests(t, "after a minute", c.run(), "delete configmaps a", "delete configmaps b")
}

func TestKindThatMayNotBeListedStopsPruning(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.run()
	c.start()
	children := watch.Want{Resource: configMap("").Resource, Labels: v1.LabelController, Role: watch.Child}
	c.silent[children] = true
	c.apply(with(t, app, "[a, b]", "[a]"))
	wantRequests(t, "while the children are read", c.run())
	if got, want := c.condition("templatecontrollers", "apps", "Watching"), "False Syncing: reading configmaps"; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
	delete(c.silent, children)
	c.sync(children)
	wantRequests(t, "when they are read", c.run(), "delete configmaps b", "status apps one")
}

func TestShortFailureOfAWatchLeavesNoTrace(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.run()
	children := c.caches[watch.Want{Resource: configMap("").Resource, Labels: v1.LabelController, Role: watch.Child}]
	children.Fail(errors.New("refused"))
	c.pass("apps", "one")
	if got, want := c.condition("apps", "one", "Ready"), "False ChildFailed: templater cannot read configmaps"; !strings.HasPrefix(got, want) {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	children.Fail(nil) // before the TemplateController has been looked at
	c.run()
	if got, want := c.condition("apps", "one", "Ready"), "True Ready: all children are ready: 2"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}

func TestTemplateControllerThatGoes(t *testing.T) {
	t.Run("Orphan leaves the children", func(t *testing.T) {
		c := newCluster(t)
		o := c.apply(apps)
		c.apply(app)
		c.run()
		c.gone(kube.Location{Resource: v1.Resource, Name: o.GetName()})
		c.apply(with(t, app, "hello", "bye"))
		wantRequests(t, "gone", c.run())
	})
	t.Run("Delete takes them, and keeps the TemplateController until they are gone", func(t *testing.T) {
		c := newCluster(t)
		c.apply(with(t, apps, "spec:\n", "spec:\n  deletionPolicy: Delete\n"))
		c.apply(app)
		first := c.run()
		if first[0] != "finalizers[templater.dev/children] templatecontrollers apps" {
			t.Errorf("requests %v, want the finalizer first", first)
		}
		c.goes()
		got := c.run()
		slices.Sort(got)
		wantRequests(t, "deletion", got, "delete configmaps a", "delete configmaps b")
		c.gone(configMap("a"))
		wantRequests(t, "one is gone", c.run())
		c.gone(configMap("b"))
		wantRequests(t, "both are gone", c.run(), "finalizers[] templatecontrollers apps")
	})
	t.Run("while it is suspended, its children stay", func(t *testing.T) {
		c := newCluster(t)
		c.apply(with(t, apps, "spec:\n", "spec:\n  deletionPolicy: Delete\n"))
		c.apply(app)
		c.run()
		c.apply(with(t, apps, "spec:\n", "spec:\n  deletionPolicy: Delete\n  suspend: true\n"))
		c.get("templatecontrollers", "apps").SetFinalizers([]string{v1.FinalizerChildren})
		c.run()
		c.goes()
		wantRequests(t, "deletion", c.run(), "finalizers[] templatecontrollers apps")
	})
}

// goes marks the TemplateController as one that is being deleted.
func (c *cluster) goes() {
	going := c.get("templatecontrollers", "apps").DeepCopy()
	now := metav1.NewTime(c.clock.Now())
	going.SetDeletionTimestamp(&now)
	c.store(kube.Location{Resource: v1.Resource, Name: "apps"}, going)
	c.deliver()
}

func TestStatusThatTheServerRefusesIsReported(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.refuse["status apps one"] = answer(http.StatusInternalServerError, "", ".status.count: field not declared in schema")
	c.run()
	want := "one Warning StatusRejected: cannot write the status: .status.count: the schema has no such field"
	if diff := cmp.Diff([]string{want}, c.events); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
	result, _ := c.pass("apps", "one")
	if result.Retry != RetryBackoff || len(c.events) != 1 {
		t.Errorf("retry %v with Events %v; want RetryBackoff, and the Event once", result.Retry, c.events)
	}
}

func TestParentsWithoutRoomForConditions(t *testing.T) {
	controller := with(t, apps, "kind: App", "kind: Statusless", "  status:\n    template: |\n      count: {{ len .children.maps }}\n", "")
	c := newCluster(t)
	c.apply(controller)
	c.apply(with(t, app, "kind: App", "kind: Statusless"))
	wantRequests(t, "no status subresource", c.run(), "create configmaps a", "create configmaps b")
	if got, want := c.condition("templatecontrollers", "apps", "StatusWritable"), `False NoStatusSubresource: Statusless has no status subresource: the ready condition is left out; add "subresources: {status: {}}" to its CustomResourceDefinition`; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
	c.apply(with(t, controller, "  children:\n", "  status: {template: \"a: 1\"}\n  children:\n"))
	c.run()
	if got, want := c.condition("templatecontrollers", "apps", "Accepted"), `False NoStatusSubresource: spec.status.template: Statusless has no status subresource: add "subresources: {status: {}}" to version v1 of its CustomResourceDefinition`; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
}

func TestConditionOfAnotherManagerIsLeftAlone(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	foreign := c.apply(app)
	foreign.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "Unknown"}}}
	own(foreign, "other", "status", map[string]any{"f:status": map[string]any{"f:conditions": map[string]any{`k:{"type":"Ready"}`: map[string]any{"f:status": map[string]any{}}}}})
	c.store(place(fakeKinds[foreign.GroupVersionKind().GroupKind()], foreign), foreign)
	c.deliver()
	c.run()
	status := c.get("apps", "one").Object["status"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"count": int64(2)}, status); diff != "" {
		t.Errorf("what was applied (-want +got):\n%s", diff)
	}
	c.controllers.queue.Add("apps")
	c.run()
	if got, want := c.condition("templatecontrollers", "apps", "StatusWritable"), "False ConditionOwned: another manager owns the condition Ready of 1 parents, where it is left alone: give spec.status.readyCondition another type"; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
	version := c.version
	c.start()
	c.run()
	if c.version != version {
		t.Error("an operator that has just begun writes that it does not know of the other manager yet")
	}
}

func TestLoopIsSlowedDownAndReported(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.run()
	for range loopBurst {
		c.gone(configMap("a"))
		c.run()
	}
	c.gone(configMap("a"))
	wantRequests(t, "too often", c.run())
	result, _ := c.pass("apps", "one")
	if result.After <= 0 || result.After > loopPause {
		t.Errorf("looks again after %v, want at most %v", result.After, loopPause)
	}
	c.clock.SetTime(c.clock.Now().Add(loopPause))
	_, requests := c.pass("apps", "one")
	wantRequests(t, "after the pause", requests, "create configmaps a", "status apps one")
	if got := c.condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False LoopDetected: slowed down:") {
		t.Errorf("ready condition is %q", got)
	}
	c.clock.SetTime(c.clock.Now().Add(10 * time.Minute))
	c.pass("apps", "one")
	if got, want := c.condition("apps", "one", "Ready"), "True Ready: all children are ready: 2"; got != want {
		t.Errorf("ready condition after it recovered is %q, want %q", got, want)
	}
}

func TestManyChildrenThatChangeAreNoLoop(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, apps, "count: {{ len .children.maps }}", "count: {{ (first .children.maps).data.seen | default 0 }}"))
	c.apply(app)
	c.run()
	for i := range 3 * loopBurst {
		o := c.get("configmaps", "a").DeepCopy()
		o.Object["data"].(map[string]any)["seen"] = int64(i + 1)
		c.store(configMap("a"), o)
		c.deliver()
		wantRequests(t, "a child changed by itself", c.run(), "status apps one")
	}
}

func TestStatusThatFlapsIsALoop(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.run()
	c.clock.SetTime(c.clock.Now().Add(2 * loopRefill)) // the writes so far count no more
	writes := 0
	for range 2 * loopBurst {
		o := c.get("apps", "one").DeepCopy()
		o.Object["status"].(map[string]any)["count"] = int64(7)
		c.store(place(fakeKinds[o.GroupVersionKind().GroupKind()], o), o)
		c.deliver()
		writes += len(c.run())
	}
	if writes > loopBurst+1 {
		t.Errorf("%d status writes against another writer, want at most %d", writes, loopBurst+1)
	}
}

func TestPanicHurtsOneKey(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.run()
	c.reconciler.breaker = nil
	_, err := c.reconciler.guarded(t.Context(), Key{"apps", configMapName("one")})
	if !errors.Is(err, errPanic) {
		t.Errorf("err = %v, want errPanic", err)
	}
}
