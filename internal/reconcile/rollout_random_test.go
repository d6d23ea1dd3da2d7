package reconcile_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// rolling is a rollout of Gadgets with random events.
type rolling struct {
	*cluster
	*rand.Rand
	names   int    // number of desired Gadgets: g0, g1…
	text    string // desired text of each
	most    int    // maximum number of unavailable Gadgets; a percentage if negative
	changed int    // number of available Gadgets that were changed or deleted
}

// TestRolloutRespectsMaxUnavailable checks after random events that no write makes more objects unavailable than allowed. In the end, all
// objects are in the desired state.
func TestRolloutRespectsMaxUnavailable(t *testing.T) {
	t.Parallel()
	changed := 0
	for seed := range uint64(25) {
		r := &rolling{cluster: newCluster(t), Rand: rand.New(rand.NewPCG(seed, 13)), names: 6, text: "t0"} //nolint:gosec // for reproducible results
		r.most = []int{1, 2, 3, 100, -1, -25, -50, -99}[r.IntN(8)]
		if r.most == 100 && r.IntN(2) == 0 {
			r.most = -100
		}
		limit := fmt.Sprint(r.most)
		if r.most < 0 {
			limit = fmt.Sprintf("'%d%%'", -r.most)
		}
		r.KubectlApply(gadgets(t, "{type: "+[]string{"Apply", "Recreate"}[r.IntN(2)]+", rollingUpdate: {maxUnavailable: "+limit+"}}"))
		r.want()
		r.Run()
		r.recover()
		r.During = r.check
		for range 40 {
			r.step()
			r.Deliver()
			r.Run()
		}
		r.finish(seed)
		changed += r.changed
		if t.Failed() {
			t.Fatalf("seed %d, limit %s", seed, limit)
		}
	}
	if changed < 125 {
		t.Errorf("only %d objects were changed", changed)
	}
}

// want updates the App with its desired Gadgets.
func (r *rolling) want() {
	var names []string
	for i := range r.names {
		names = append(names, fmt.Sprint("g", i))
	}
	r.KubectlApply(newApp(withChildren(names...), withText(r.text)))
}

// step triggers a random event.
func (r *rolling) step() {
	name := fmt.Sprint("g", r.IntN(r.names))
	o := r.Objects[gadget(name)]
	switch r.IntN(14) {
	case 0:
		r.text = fmt.Sprint("t", r.IntN(4))
		r.want()
	case 1:
		r.names = 1 + r.IntN(9)
		r.want()
	case 2:
		if o != nil {
			r.End(gadget(name), metav1.DeletePropagationBackground)
		}
	case 3:
		r.start()
	case 4, 5, 6:
		r.CollectGarbage()
	case 7, 8, 9, 10:
		r.recover()
	case 11:
		if o != nil {
			r.reportGadget(name, "Stalled")
		}
	default:
		if o != nil {
			r.reportGadget(name, "Ready")
		}
	}
}

// recover makes all Gadgets ready, like their controller.
func (r *rolling) recover() {
	for i := range r.names {
		if name := fmt.Sprint("g", i); r.Objects[gadget(name)] != nil {
			r.reportGadget(name, "Ready")
		}
	}
}

// check checks each request before it takes effect.
func (r *rolling) check() {
	parts := strings.Fields(r.Requests[len(r.Requests)-1])
	if parts[1] != "gadgets" || parts[0] != "update" && parts[0] != "delete-foreground" {
		return
	}
	o := r.Objects[gadget(parts[2])]
	if text, _, _ := unstructured.NestedString(o.Object, "spec", "text"); text == r.text || !available(o) || !r.wants(parts[2]) {
		return
	}
	r.changed++
	down := 1
	for i := range r.names {
		if !available(r.Objects[gadget(fmt.Sprint("g", i))]) {
			down++
		}
	}
	most := r.most
	if most < 0 {
		most = max(1, -most*r.names/100)
	}
	if down > most {
		r.T.Errorf("%v: %d of %d are unavailable then, and %d may be", parts, down, r.names, most)
	}
}

func (r *rolling) wants(name string) bool {
	for i := range r.names {
		if name == fmt.Sprint("g", i) {
			return true
		}
	}
	return false
}

// available reports whether a Gadget is available, according to its status.
func available(o *unstructured.Unstructured) bool {
	if o == nil || o.GetDeletionTimestamp() != nil {
		return false
	}
	observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return observed == o.GetGeneration() && len(conditions) == 1 && conditions[0].(map[string]any)["type"] == "Ready"
}

// finish makes everything recover until no work is left, and checks the result.
func (r *rolling) finish(seed uint64) {
	for range 3 * (r.names + 1) {
		r.CollectGarbage()
		r.Deliver()
		r.Run()
		r.recover()
		r.Run()
	}
	there := 0
	for at, o := range r.Objects {
		if at.Resource != gadget("").Resource {
			continue
		}
		there++
		if text, _, _ := unstructured.NestedString(o.Object, "spec", "text"); text != r.text {
			r.T.Errorf("seed %d: %s has the text %s, want %s", seed, at.Name, text, r.text)
		}
	}
	if got, want := r.Condition("apps", "one", "Ready"), fmt.Sprintf("True Ready: all children are ready: %d", r.names); got != want || there != r.names {
		r.T.Errorf("seed %d: %d are there, ready condition %s, want %s", seed, there, got, want)
	}
}
