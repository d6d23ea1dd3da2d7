package e2e

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/cases"
	"github.com/templater-dev/templater/internal/cli/simulate"
)

var (
	offlineCases = flag.Int("offline-cases", 30, "TemplateControllers that TestOfflineEqualsCluster draws")
	offlineSeed  = flag.Uint64("offline-seed", 0, "seed of TestOfflineEqualsCluster; 0 draws one")
	offlineKeep  = flag.String("offline-keep", "", "folder in which TestOfflineEqualsCluster keeps its cases")
)

const offlineSteps = 6

// selector selects objects that have a label.
func selector(label string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: label, Operator: metav1.LabelSelectorOpExists}}}
}

// offlineCase is one random TemplateController with one parent. What happens on the cluster is recorded as a case of templater test.
type offlineCase struct {
	s       *scope
	name    string
	random  *randomController
	spec    map[string]any // of the parent
	steps   []cases.Step
	seen    []outcome // by step
	deleted bool
}

// outcome is what is compared: the status of the parent, nil when it is gone, and the children by kind and name.
type outcome struct {
	Status   map[string]any
	Children map[string]map[string]any
}

// TestOfflineEqualsCluster applies random TemplateControllers and edits to a cluster, and repeats the same by templater test: objects, statuses
// and conditions must be equal after each step.
func TestOfflineEqualsCluster(t *testing.T) {
	parallel(t)
	s := newCollectedScope(t)
	op := startOperator(t)
	seed := *offlineSeed
	if seed == 0 {
		seed = rand.Uint64() >> 32
	}
	t.Logf("again with: -offline-seed %d -offline-cases %d", seed, *offlineCases)
	folder := *offlineKeep
	if folder == "" {
		folder = t.TempDir()
	}
	const atOnce = 100 // one operator serves so many TemplateControllers in a moment
	for from := 0; from < *offlineCases; from += atOnce {
		var all []*offlineCase
		for i := from; i < min(from+atOnce, *offlineCases); i++ {
			c := &offlineCase{s: s, name: fmt.Sprintf("c%d", i), random: &randomController{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}}
			c.begin(folder)
			all = append(all, c)
		}
		for step := range offlineSteps {
			for _, c := range all {
				c.act(step)
			}
			op.settle(all)
			for _, c := range all {
				c.seen = append(c.seen, c.observe())
			}
		}
		for _, c := range all {
			c.save(filepath.Join(folder, c.name))
		}
	}
	differ, all := 0, cases.Find([]string{folder})
	if len(all) != *offlineCases {
		t.Fatalf("%d cases, want %d", len(all), *offlineCases)
	}
	for _, c := range all {
		if !compareOffline(t, c) {
			differ++
		}
	}
	t.Logf("%d of %d cases differ", differ, *offlineCases)
}

// begin applies the TemplateController.
func (c *offlineCase) begin(folder string) {
	t := c.s.t
	t.Helper()
	spec := c.random.spec(c.s.group)
	spec.Watch = v1.Watch{APIVersion: c.s.group + "/v1", Kind: "Thing", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"case": c.name}}}
	text, err := yaml.Marshal(map[string]any{"apiVersion": v1.GroupVersion.String(), "kind": "TemplateController", "metadata": map[string]any{"name": c.s.id + "-" + c.name}, "spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	c.s.apply(string(text))
	c.write(filepath.Join(folder, c.name), "templatecontroller.yaml", text)
	c.write(filepath.Join(folder, c.name), "crd.yaml", []byte(c.s.expand(definition("Thing", "Namespaced"))))
}

// write writes a file of the case.
func (c *offlineCase) write(folder, file string, text []byte) {
	c.s.t.Helper()
	path := filepath.Join(folder, file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
		c.s.t.Fatal(err)
	}
}

// act does one thing on the cluster, and records it.
func (c *offlineCase) act(step int) {
	if c.deleted && c.seen[len(c.seen)-1].Status == nil {
		return // nothing can follow
	}
	t, r := c.s.t, c.random
	recorded := cases.Step{Name: fmt.Sprint("step ", step+1)}
	live := c.live()
	things := slices.DeleteFunc(slices.Clone(live), func(o unstructured.Unstructured) bool { return o.GetKind() != "Thing" })
	choice := r.IntN(6)
	switch {
	case step == 0:
		c.spec = r.parentSpec()
		parent := map[string]any{"apiVersion": c.s.group + "/v1", "kind": "Thing", "metadata": map[string]any{"name": c.name, "namespace": c.s.ns, "labels": map[string]any{"case": c.name}}, "spec": c.spec}
		text, err := yaml.Marshal(parent)
		if err != nil {
			t.Fatal(err)
		}
		c.s.apply(string(text))
		recorded.Parent = parent
	case step == offlineSteps-2 && !c.deleted || choice == 5 && !c.deleted && step > 2:
		c.s.delete(c.s.things(), c.name)
		recorded.Delete, c.deleted = true, true
	case choice == 0 && r.related:
		related := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("r-%s-%d", c.name, r.IntN(2)), "namespace": c.s.ns, "labels": map[string]any{"related-to": c.name}},
			"data": map[string]any{"value": pick(r, "one", "two")}}
		text, err := yaml.Marshal(related)
		if err != nil {
			t.Fatal(err)
		}
		c.s.apply(string(text))
		recorded.Related = append(recorded.Related, related)
	case choice == 1 && len(live) > 0:
		o := pick(r, live...)
		c.s.delete(c.s.in(c.resource(&o)), o.GetName())
		recorded.Remove = append(recorded.Remove, identity(&o))
	case choice <= 3 && len(things) > 0:
		o := pick(r, things...)
		status := map[string]any{"phase": pick(r, "Up", "Up", "Down")}
		if _, err := c.s.things().Patch(t.Context(), o.GetName(), "application/merge-patch+json", mustJSON(map[string]any{"status": status}), metav1.PatchOptions{FieldManager: "somebody"}, "status"); err != nil {
			t.Fatal(err)
		}
		patch := identity(&o)
		patch["status"] = status
		recorded.Observe = append(recorded.Observe, patch)
	default:
		patch := map[string]any{"spec": r.parentSpec()}
		c.s.patch(c.s.things(), c.name, string(mustJSON(patch)))
		recorded.Parent = patch
	}
	c.steps = append(c.steps, recorded)
}

func mustJSON(v any) []byte {
	text, err := yaml.Marshal(v)
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	if err != nil {
		panic(err)
	}
	return text
}

func identity(o *unstructured.Unstructured) map[string]any {
	return map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "metadata": map[string]any{"name": o.GetName(), "namespace": o.GetNamespace()}}
}

func (c *offlineCase) resource(o *unstructured.Unstructured) schema.GroupVersionResource {
	if o.GetKind() == "Thing" {
		return c.s.resource("things")
	}
	return configMaps
}

// live returns the objects that were made for the parent, by kind and name.
func (c *offlineCase) live() (out []unstructured.Unstructured) {
	for _, in := range []dynamic.ResourceInterface{c.s.in(configMaps), c.s.things()} {
		for _, o := range c.s.list(in, "templater.dev/controller="+c.s.id+"-"+c.name) {
			if !strings.HasPrefix(o.GetName(), c.name+"-") {
				c.s.t.Fatalf("%s %s has a label of %s", o.GetKind(), o.GetName(), c.name)
			}
			out = append(out, o)
		}
	}
	return out
}

// parent returns the parent, or nil.
func (c *offlineCase) parent() (*unstructured.Unstructured, error) {
	o, err := c.s.things().Get(c.s.t.Context(), c.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return o, err
}

// settle waits until all parents show their last edit, the garbage collector is done, and the operator has nothing left to do.
func (op *operator) settle(all []*offlineCase) {
	op.t.Helper()
	for _, c := range all {
		eventually(op.t, soon, func() error {
			o, err := c.parent()
			if err != nil || o == nil {
				return err
			}
			if observed(o) != o.GetGeneration() {
				return fmt.Errorf("%s: the condition is of generation %d, the parent of %d", c.name, observed(o), o.GetGeneration())
			}
			return nil
		})
	}
	op.quiet(2 * time.Second)
	for _, c := range all {
		eventually(op.t, collectorSoon, func() error {
			o, err := c.parent()
			if err != nil || o != nil {
				return err
			}
			for _, o := range c.live() {
				if len(o.GetOwnerReferences()) > 0 {
					return fmt.Errorf("%s %s is not collected", o.GetKind(), o.GetName())
				}
			}
			return nil
		})
	}
}

// observe returns what there is.
func (c *offlineCase) observe() outcome {
	o, err := c.parent()
	if err != nil {
		c.s.t.Fatal(err)
	}
	var out outcome
	if o != nil {
		status, _ := o.Object["status"].(map[string]any)
		out.Status = timeless(status)
		if out.Status == nil {
			out.Status = map[string]any{}
		}
	}
	out.Children = map[string]map[string]any{}
	for _, child := range c.live() {
		out.add(child.Object)
	}
	return out
}

func (o *outcome) add(content map[string]any) {
	child := &unstructured.Unstructured{Object: content}
	o.Children[child.GetKind()+" "+child.GetName()] = simulate.Public(content)
}

// timeless returns a status without the times of its conditions.
func timeless(status map[string]any) map[string]any {
	status = maps.Clone(status)
	list, _ := status["conditions"].([]any)
	var kept []any
	for _, item := range list {
		condition := maps.Clone(item.(map[string]any))
		delete(condition, "lastTransitionTime")
		kept = append(kept, condition)
	}
	if kept != nil {
		status["conditions"] = kept
	}
	return status
}

// save writes what has happened as a case of templater test, and what has come of it.
func (c *offlineCase) save(folder string) {
	t := c.s.t
	t.Helper()
	parent := c.steps[0].Parent
	c.steps[0].Parent = nil // that was its creation
	for file, content := range map[string]any{"case/case.yaml": cases.Case{Steps: c.steps}, "case/parent.yaml": parent, "cluster.txt": c.seen} {
		text, err := yaml.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		c.write(folder, file, text)
	}
}

// compareOffline repeats a case offline, and compares it with what the cluster came to.
func compareOffline(t *testing.T, c *cases.Case) (equal bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.Folder, "../cluster.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var seen []outcome
	if err := yaml.Unmarshal(text, &seen); err != nil {
		t.Fatal(err)
	}
	equal = true
	err = c.Play(func(step int, after simulate.State, gone bool) {
		got := outcome{Children: map[string]map[string]any{}}
		if status, _ := after.Parent["status"].(map[string]any); !gone {
			got.Status = timeless(status)
		}
		for _, content := range after.Objects {
			got.add(content)
		}
		if diff := cmp.Diff(plain(t, seen[step]), plain(t, got)); diff != "" && equal {
			t.Errorf("%s, step %d (-cluster +offline):\n%s", c.Folder, step+1, diff)
			equal = false
		}
	})
	if err != nil {
		t.Error(err)
		return false
	}
	return equal
}

// plain returns an outcome as YAML, which has one form of each number.
func plain(t *testing.T, o outcome) string {
	t.Helper()
	text, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
