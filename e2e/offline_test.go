package e2e

import (
	"context"
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
	"github.com/templater-dev/templater/e2e/cluster/poll"
	"github.com/templater-dev/templater/internal/cli/cases"
	"github.com/templater-dev/templater/internal/cli/simulate"
)

var (
	offlineCases = flag.Int("offline-cases", 30, "TemplateControllers that TestOfflineEqualsCluster draws")
	offlineKeep  = flag.String("offline-keep", "", "folder in which TestOfflineEqualsCluster keeps its cases")
)

const offlineSteps = 6

// selector selects objects that have a label.
func selector(label string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: label, Operator: metav1.LabelSelectorOpExists}}}
}

// offlineCase is one random TemplateController with one parent. Its history on the cluster is recorded as a case of
// templater test.
type offlineCase struct {
	s       *scope
	name    string
	random  *randomController
	spec    map[string]any // of the parent
	folder  string
	steps   []cases.Step
	deleted bool
	gone    bool   // the parent is deleted
	foreign string // name of a ConfigMap that has another owner; "" = none
}

// outcome is compared: the status of the parent, nil if deleted, and the children by kind and name.
type outcome struct {
	Status   map[string]any
	Children map[string]map[string]any
}

// TestOfflineEqualsCluster applies random TemplateControllers and edits to a cluster, and replays them with templater
// test: objects, statuses and conditions must be equal after each step.
func TestOfflineEqualsCluster(t *testing.T) {
	parallel(t)
	s := newCollectedScope(t)
	op := startOperator(t)
	seed := randomSeed(t)
	t.Logf("%d cases", *offlineCases)
	folder := *offlineKeep
	if folder == "" {
		folder = t.TempDir()
	}
	const atOnce = 100 // one operator easily handles that many TemplateControllers
	for from := 0; from < *offlineCases; from += atOnce {
		var all []*offlineCase
		for i := from; i < min(from+atOnce, *offlineCases); i++ {
			name := fmt.Sprintf("c%d", i)
			c := &offlineCase{s: s, name: name, folder: filepath.Join(folder, name), random: &randomController{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}}
			c.begin()
			all = append(all, c)
		}
		for step := range offlineSteps {
			for _, c := range all {
				c.act(step)
			}
			op.settle(all)
			all = slices.DeleteFunc(all, func(c *offlineCase) bool {
				diff := c.compare()
				if diff != "" {
					t.Errorf("%s, step %d (-cluster +offline):\n%s", c.folder, step+1, diff)
				}
				return diff != "" || c.gone
			})
		}
	}
}

// begin applies the TemplateController.
func (c *offlineCase) begin() {
	t := c.s.t
	t.Helper()
	spec := c.random.spec(c.s.group)
	spec.Watch = v1.Watch{APIVersion: c.s.group + "/v1", Kind: "Thing", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"case": c.name}}}
	c.s.apply(c.write("templatecontroller.yaml", map[string]any{"apiVersion": v1.GroupVersion.String(), "kind": "TemplateController", "metadata": map[string]any{"name": c.s.id + "-" + c.name}, "spec": spec}))
	var crd map[string]any
	if err := yaml.Unmarshal([]byte(c.s.expand(definition("Thing", "Namespaced"))), &crd); err != nil {
		t.Fatal(err)
	}
	c.write("crd.yaml", crd)
}

// write writes a file of the case, and returns its content.
func (c *offlineCase) write(file string, content any) string {
	c.s.t.Helper()
	text, err := yaml.Marshal(content)
	path := filepath.Join(c.folder, file)
	if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
		c.s.t.Fatal(err)
	}
	return string(text)
}

// act performs one action on the cluster, and records it.
func (c *offlineCase) act(step int) {
	t, r := c.s.t, c.random
	recorded := cases.Step{Name: fmt.Sprint("step ", step+1)}
	live := c.live()
	things := slices.DeleteFunc(slices.Clone(live), func(o unstructured.Unstructured) bool { return o.GetKind() != "Thing" })
	choice := r.IntN(6)
	switch {
	case step == 0:
		if len(r.maps) > 0 && r.chance(3) {
			recorded.Observe = []map[string]any{c.takeName(pick(r, r.maps...))}
		}
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
	case choice == 2 && len(live) > 0: // drift of a field that a template sets or of one that it does not set
		o := pick(r, live...)
		patch := identity(&o)
		patch[contentOf(&o)] = map[string]any{pick(r, "x", "foreign"): "edited"}
		c.s.patch(c.s.in(c.resource(&o)), o.GetName(), string(mustJSON(patch)))
		recorded.Observe = append(recorded.Observe, patch)
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

// takeName creates an object with the name of a child and another owner. Without an owner, templater test would take it
// for the child.
func (c *offlineCase) takeName(entry string) map[string]any {
	c.s.t.Helper()
	owner := map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "name": "default", "controller": true}
	eventually(c.s.t, soon, func() error {
		account, err := env.clientset.CoreV1().ServiceAccounts(c.s.ns).Get(c.s.t.Context(), "default", metav1.GetOptions{})
		owner["uid"] = string(account.GetUID())
		return err
	})
	foreign := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"x": "foreign"},
		"metadata": map[string]any{"name": c.name + "-" + entry, "namespace": c.s.ns, "ownerReferences": []any{owner}},
	}
	c.s.apply(string(mustJSON(foreign)))
	c.foreign = c.name + "-" + entry
	return foreign
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

// contentOf returns the field that contains the rendered content of a kind.
func contentOf(o *unstructured.Unstructured) string {
	if o.GetKind() == "Thing" {
		return "spec"
	}
	return "data"
}

// live returns the parent's children, sorted by kind and name.
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

// settle waits until all parents reflect their last edit, the garbage collector is done, and the operator is idle.
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
	op.quiet(time.Second)
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

// observe returns the current outcome.
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
	if c.foreign != "" {
		if o, err := c.s.in(configMaps).Get(c.s.t.Context(), c.foreign, metav1.GetOptions{}); err == nil {
			out.add(o.Object)
		}
	}
	return out
}

func (o *outcome) add(content map[string]any) {
	child := &unstructured.Unstructured{Object: content}
	o.Children[child.GetKind()+" "+child.GetName()] = simulate.Public(content)
}

// timeless returns a status without the timestamps of its conditions.
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

// rolloutTime is the timeout of a rollout, which pauses for seconds after each change.
const rolloutTime = time.Minute

// compare replays all steps offline, waits until the cluster has the same outcome, and returns the remaining
// difference.
func (c *offlineCase) compare() (diff string) {
	t := c.s.t
	t.Helper()
	c.save()
	var want outcome
	for _, each := range cases.Find([]string{c.folder}) {
		if err := each.Play(func(_ int, after simulate.State, gone bool) { want = offlineOutcome(after, gone) }); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), rolloutTime)
	defer cancel()
	err := poll.Until(ctx, 100*time.Millisecond, func() error {
		got := c.observe()
		if diff = cmp.Diff(plain(t, got), plain(t, want)); diff != "" {
			return errors.New("they differ")
		}
		return nil
	})
	if c.gone = want.Status == nil; err == nil {
		diff = ""
	}
	return diff
}

// save writes the history as a case of templater test.
func (c *offlineCase) save() {
	c.s.t.Helper()
	steps := slices.Clone(c.steps)
	c.write("case/parent.yaml", steps[0].Parent)
	steps[0].Parent = nil // the creation of the parent
	c.write("case/case.yaml", cases.Case{Steps: steps})
}

// offlineOutcome returns the outcome of an offline step.
func offlineOutcome(after simulate.State, gone bool) outcome {
	out := outcome{Children: map[string]map[string]any{}}
	if status, _ := after.Parent["status"].(map[string]any); !gone {
		out.Status = timeless(status)
	}
	for _, content := range after.Objects {
		out.add(content)
	}
	return out
}

// plain returns an outcome as YAML, in which each number has one form.
func plain(t *testing.T, o outcome) string {
	t.Helper()
	text, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
