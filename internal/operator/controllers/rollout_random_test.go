package controllers

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/revision"
)

var rolloutSeeds = flag.Uint64("rollout-seeds", 25, "how many rounds TestRandomEditsAreRolledOut has")

// roller performs random edits of apps, and others that concern its rollouts.
type roller struct {
	*cluster
	*rand.Rand

	of     map[string]string // the edition of each revision
	before map[string]string // the edition of each child
	log    []string
}

// TestRandomEditsAreRolledOut performs many random actions, and checks that each child has the edition of the current revision, of the newest
// one, or its earlier one. Afterwards, all parents have the newest revision without another event.
func TestRandomEditsAreRolledOut(t *testing.T) {
	for seed := range *rolloutSeeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := &roller{Rand: rand.New(rand.NewPCG(seed, 0)), of: map[string]string{}, before: map[string]string{}} //nolint:gosec // the same in each run
			r.cluster = tried(t, edition(t, "e0", ""), 5)
			defer func() {
				if t.Failed() {
					t.Log(strings.Join(r.log, "\n"))
				}
			}()
			r.of[idOf(t, edition(t, "e0", ""))] = "e0"
			r.check(t)
			for range 25 {
				r.log = append(r.log, r.act(t))
				r.pass([]time.Duration{0, time.Second, time.Minute, time.Hour}[r.IntN(4)])
				r.check(t)
			}
			r.finish(t)
		})
	}
}

// pass lets time pass, without other events.
func (c *cluster) pass(by time.Duration) {
	c.Clock.SetTime(c.Clock.Now().Add(by))
	for range 4 {
		c.Run()
		c.Deliver()
		c.CollectGarbage()
	}
}

// rollouts are the variants of spec.rollout.
var rollouts = []string{"", staged, staged, "rollout: {steps: [2], maxFailed: 1}", "rollout: {paused: true, steps: [1]}", "rollout: {canarySelector: {matchLabels: {tier: front}}, interval: 1m}", "rollout: {preflight: Warn, readyTimeout: 5m}"}

// act performs an action.
func (r *roller) act(t *testing.T) string {
	number := r.IntN(6)
	child, parent := fmt.Sprint("c", number), fmt.Sprint("p", number)
	switch n := r.IntN(26); {
	case n < 8:
		name := fmt.Sprint("e", r.IntN(5))
		text := edition(t, name, rollouts[r.IntN(len(rollouts))])
		r.of[idOf(t, text)] = name
		if r.IntN(6) == 0 {
			text = withSpec(t, text, "suspend: true")
		}
		if r.IntN(5) == 0 {
			text = invalid(t, text)
		}
		if r.IntN(6) == 0 {
			r.Refuse["create templaterevisions "+revisionName(t, text)] = errServer
		}
		r.KubectlApply(text)
		return text
	case n < 10:
		r.start()
		return "restart"
	case n == 10:
		r.KubectlEdit(appsController, func(o *unstructured.Unstructured) { delete(o.Object, "status") })
		return "no status"
	case n == 11:
		if r.Find("apps", parent) != nil {
			return "nothing"
		}
		r.PutWithUID(newApp(withName(parent), withChildren(child)), types.UID(fmt.Sprint("uid-", r.Version)))
		return "put " + parent + " with " + child
	case n == 12:
		if o := r.Find("apps", parent); o != nil {
			r.KubectlDelete(locationOf(o), metav1.DeletePropagationBackground)
		}
		return "delete " + parent
	case n < 17:
		what := []string{"dry-run update configmaps " + child, "update configmaps " + child, "status apps " + parent, "status templatecontrollers apps"}[r.IntN(4)]
		err := []error{errInvalid, errServer}[r.IntN(2)]
		r.Refuse[what] = err
		return "refuse " + what + ": " + err.Error()
	case n < 20:
		clear(r.Refuse)
		return "refuse nothing"
	case n < 22:
		if o := r.Find("configmaps", child); o != nil {
			r.RemoveNow(locationOf(o))
		}
		return "remove " + child
	case n == 22:
		name := revisionName(t, edition(t, fmt.Sprint("e", r.IntN(5)), ""))
		if o := r.Find("templaterevisions", name); o != nil {
			r.RemoveNow(locationOf(o))
		}
		return "remove revision " + name
	default:
		if o := r.Find("apps", parent); o != nil {
			r.KubectlEdit(locationOf(o), func(o *unstructured.Unstructured) {
				o.SetAnnotations(map[string]string{v1.AnnotationSuspend: fmt.Sprint(r.IntN(3) == 0)})
				o.SetLabels(map[string]string{"tier": []string{"front", "back"}[r.IntN(2)]})
				o.Object["spec"].(map[string]any)["text"] = fmt.Sprint(r.Version)
			})
		}
		return "edit " + parent
	}
}

// check compares the children with the revisions.
func (r *roller) check(t *testing.T) {
	_, current, update := r.progress()
	after := map[string]string{}
	for at, o := range r.Objects {
		if at.Resource.Resource != "configmaps" {
			continue
		}
		text, _, _ := unstructured.NestedString(o.Object, "data", "edition")
		after[at.Name+" "+string(o.GetUID())] = text
		may := []string{r.of[current], r.of[update], r.before[at.Name+" "+string(o.GetUID())]}
		if update != "" && !slices.Contains(may, text) {
			t.Errorf("after action %d, %s has edition %s, want one of %q", len(r.log), at.Name, text, may)
		}
	}
	r.before = maps.Clone(after)
}

// finish ends all faults, and checks that all parents get the newest revision. Halted rollouts are continued.
func (r *roller) finish(t *testing.T) {
	clear(r.Refuse)
	var retry int
	apply := func() {
		r.KubectlApply(edition(t, "last", fmt.Sprintf("rollout: {steps: [1, 50%%], interval: 1h, retry: %d}", retry)))
	}
	r.of[idOf(t, edition(t, "last", ""))] = "last"
	apply()
	parents := 0
	for at := range r.Objects {
		if at.Resource.Resource == "apps" {
			parents++
			r.KubectlEdit(at, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
		}
	}
	want, condition := map[string]int{"last": parents}, ""
	for range 40 {
		r.pass(10 * time.Minute)
		r.check(t)
		var current, update string
		condition, current, update = r.progress()
		if strings.HasPrefix(condition, "False RolloutHalted") || strings.HasPrefix(condition, "False RevisionNotFound") {
			if strings.Contains(condition, "remove spec.rollout") {
				r.KubectlApply(edition(t, "last", ""))
				r.pass(0)
			}
			retry++
			apply()
		}
		if strings.HasPrefix(condition, "True RolloutComplete") && current == update {
			break
		}
	}
	if got := r.editions(); parents > 0 && got != fmt.Sprint(want) || !strings.HasPrefix(condition, "True RolloutComplete") {
		t.Errorf("finally: %s, %q; want %v", got, condition, want)
	}
	r.Requests = []string{}
	r.pass(time.Hour)
	r.pass(time.Hour)
	wantRequests(t, "after the rollout", r.Requests)
}

// idOf returns the ID of the revision in a manifest.
func idOf(t *testing.T, manifest string) string {
	t.Helper()
	tc := &v1.TemplateController{}
	if err := yaml.Unmarshal([]byte(manifest), tc); err != nil {
		t.Fatal(err)
	}
	return revision.IDOf(&tc.Spec)
}
