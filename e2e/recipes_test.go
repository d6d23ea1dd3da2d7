package e2e

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// recipe is a folder of docs/how-to with an object.yaml, running in its own namespace.
type recipe struct {
	*scope
	folder string // relative to the top of the repository
}

// TestRecipesReachExpectedState runs all recipes of the docs at once with one operator. Each reaches the state in its
// cases/expect.yaml and on its page. Then the operator reconciles each parent repeatedly, and writes nothing. At the
// end, the objects are deleted.
func TestRecipesReachExpectedState(t *testing.T) {
	parallel(t)
	needsAudit(t)
	recipes := findRecipes(t)
	v, args := newView(t)
	op := startOperator(t, args...)
	eachRecipe(t, "comes up", recipes, func(r *recipe) {
		r.applyAll()
		r.waitExpected()
	})
	if t.Failed() {
		return
	}
	expectRest(t, op, v, recipes)
	eachRecipe(t, "is as its page shows", recipes, (*recipe).checkPage)
	eachRecipe(t, "goes", recipes, (*recipe).deleteObjects)
}

// findRecipes returns all recipes.
func findRecipes(t *testing.T) []*recipe {
	t.Helper()
	var all []*recipe
	err := filepath.WalkDir(filepath.Join(env.root, "docs/how-to"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "object.yaml" {
			return err
		}
		folder, err := filepath.Rel(env.root, filepath.Dir(path))
		id := nameFor("recipe-" + filepath.Base(folder))
		s := &scope{t: t, id: id, ns: id, group: id + ".example.org", manager: "e2e"}
		r := &recipe{scope: s, folder: folder}
		t.Cleanup(s.remove)
		t.Cleanup(r.release)
		all = append(all, r)
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("found %d recipes, and the error %v", len(all), err)
	}
	return all
}

// eachRecipe runs a test for all recipes in parallel, and waits for all of them.
func eachRecipe(t *testing.T, what string, recipes []*recipe, test func(*recipe)) {
	t.Run(what, func(t *testing.T) {
		for _, r := range recipes {
			t.Run(filepath.Base(r.folder), func(t *testing.T) {
				t.Parallel()
				sub := r.at(t)
				defer func() { r.owned = sub.owned }()
				test(&recipe{scope: sub, folder: r.folder})
			})
		}
	})
}

// objects reads a file of the recipe; a missing file has no objects.
func (r *recipe) objects(file string) []*unstructured.Unstructured {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(env.root, r.folder, file))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	var all []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+string(text), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			r.t.Fatalf("%s/%s: %v", r.folder, file, err)
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
	return all
}

// applyAll applies the files of the recipe, dependencies first. The namespace is deleted first: claims in it use
// volumes.
func (r *recipe) applyAll() {
	r.t.Helper()
	r.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: "@ns"}}`)
	namespace := r.owned
	r.owned = nil
	defer func() { r.owned = append(r.owned, namespace...) }()
	files := []string{"rbac.yaml", "crd.yaml"}
	found, err := filepath.Glob(filepath.Join(env.root, r.folder, "*.yaml"))
	if err != nil {
		r.t.Fatal(err)
	}
	last := []string{"templatecontroller.yaml", "object.yaml"}
	for _, path := range found {
		if file := filepath.Base(path); !slices.Contains(slices.Concat(files, last), file) {
			files = append(files, file)
		}
	}
	for _, file := range slices.Concat(files, last) {
		for _, o := range r.objects(file) {
			if err := r.applyObject(o); err != nil {
				r.t.Fatalf("%s/%s: %v", r.folder, file, err)
			}
			if crd, found, _ := unstructured.NestedMap(o.Object, "spec", "crd"); found && o.GetKind() == "TemplateController" {
				r.waitDefined(o.GetName(), crd)
			}
			if o.GetKind() == "ClusterRole" {
				r.apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "e2e-@id-` + o.GetName() + `"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "` + o.GetName() + `"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "@operator"}]
`)
			}
		}
	}
}

// waitDefined waits until a TemplateController with spec.crd has created the kind of object.yaml.
func (r *recipe) waitDefined(name string, crd map[string]any) {
	r.t.Helper()
	o := r.waitController(name, func(o *unstructured.Unstructured) error { return condition(o, "Ready", "True", "") })
	kind, _, _ := unstructured.NestedString(o.Object, "spec", "watch", "kind")
	version, _, _ := unstructured.NestedString(o.Object, "spec", "watch", "apiVersion")
	group, _, _ := strings.Cut(version, "/")
	plural, _, _ := unstructured.NestedString(crd, "names", "plural")
	r.own(definitions, cmp.Or(plural, strings.ToLower(kind)+"s")+"."+group)
}

// waitExpected waits until the objects match cases/expect.yaml, or, without that file, until the objects of object.yaml
// are Ready.
func (r *recipe) waitExpected() {
	r.t.Helper()
	expected := r.objects("cases/expect.yaml")
	if len(expected) == 0 {
		for _, o := range r.objects("object.yaml") {
			o.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
			delete(o.Object, "spec")
			expected = append(expected, o)
		}
	}
	for _, want := range expected {
		waitFor(r.t, r.interfaceOf(want), want.GetName(), func(got *unstructured.Unstructured) error {
			if path := lacks(got.Object, want.Object, ""); path != "" {
				return fmt.Errorf("%s %s differs from %s: its status is %v", want.GetKind(), want.GetName(), path, got.Object["status"])
			}
			return nil
		})
	}
}

func (r *recipe) interfaceOf(o *unstructured.Unstructured) dynamic.ResourceInterface {
	r.t.Helper()
	in, _, err := r.interfaceFor(o)
	if err != nil {
		r.t.Fatal(err)
	}
	return in
}

// lacks returns the path of something in want that is missing in got, or "". Each item of a list in want must be in the
// list in got, at any index.
func lacks(got, want any, path string) string {
	switch want := want.(type) {
	case map[string]any:
		m, _ := got.(map[string]any)
		for key, value := range want {
			if below := lacks(m[key], value, path+"."+key); below != "" {
				return below
			}
		}
	case []any:
		list, _ := got.([]any)
		for i, value := range want {
			if !slices.ContainsFunc(list, func(item any) bool { return lacks(item, value, path) == "" }) {
				return fmt.Sprintf("%s[%d]", path, i)
			}
		}
	default:
		if !reflect.DeepEqual(fmt.Sprint(got), fmt.Sprint(want)) {
			return path
		}
	}
	return ""
}

// expectRest makes the operator reconcile all parents every second. Once a reconciliation of each has written nothing,
// the next two must write nothing either.
func expectRest(t *testing.T, op *operator, v *view, recipes []*recipe) {
	t.Helper()
	var names []string
	for _, r := range recipes {
		for _, tc := range r.objects("templatecontroller.yaml") {
			if tc.GetKind() == "TemplateController" {
				names = append(names, tc.GetName())
				r.patch(env.client.Resource(controllers), tc.GetName(), `{"spec": {"resyncPeriod": "1s"}}`)
			}
		}
	}
	eventually(t, soon, func() error {
		since := mark(t)
		waitPasses(t, v, names, 1)
		if writes := op.writes(since); len(writes) > 0 {
			return fmt.Errorf("the operator is busy: %v", tally(writes))
		}
		return nil
	})
	since := mark(t)
	waitPasses(t, v, names, 2)
	for _, write := range op.writes(since) {
		t.Errorf("a reconciliation of unchanged parents wrote: %v", write)
	}
}

// waitPasses waits for that many more reconciliations of each TemplateController.
func waitPasses(t *testing.T, v *view, names []string, more float64) {
	t.Helper()
	before := map[string]float64{}
	eventually(t, soon, func() error {
		m, err := v.scrape()
		if err != nil {
			return err
		}
		for _, name := range names {
			passes := 0.0
			for series, value := range m {
				if strings.HasPrefix(series, `templater_reconcile_total{controller="`+name+`"`) {
					passes += value
				}
			}
			if was, known := before[name]; !known {
				before[name] = passes
				err = fmt.Errorf("there have been %v reconciliations for %s so far", passes, name)
			} else if passes < was+more {
				err = fmt.Errorf("there have been %v reconciliations for %s, and %v before", passes, name, was)
			}
		}
		return err
	})
}

// checkPage runs the kubectl get commands that begin the section "What you see" of the page, and expects their output
// on the page.
func (r *recipe) checkPage() {
	for _, step := range shownIn(r.t, filepath.Join(r.folder, "README.md"), "What you see") {
		if !strings.HasPrefix(step.command, "kubectl get ") {
			return
		}
		eventually(r.t, soon, func() error {
			return same(step.command, alike(step.output), alike(r.shell(step.command)))
		})
	}
}

// release removes the operator's finalizers from the recipe's remaining objects after a failure: the operator has been
// stopped.
func (r *recipe) release() {
	ctx := context.WithoutCancel(r.t.Context())
	for _, o := range r.objects("object.yaml") {
		in, _, err := r.interfaceFor(o)
		if meta.IsNoMatchError(err) {
			continue // its CRD has not been applied
		}
		if err == nil {
			_, err = in.Patch(ctx, o.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			r.t.Errorf("clean up: %v", err)
		}
	}
}

// deleteObjects deletes the objects of the recipe while the operator is running to remove its finalizers.
func (r *recipe) deleteObjects() {
	all := r.objects("object.yaml")
	for _, o := range all {
		r.delete(r.interfaceOf(o), o.GetName())
	}
	for _, o := range all {
		if o.GetKind() != "Namespace" { // takes long
			waitGone(r.t, r.interfaceOf(o), o.GetName())
		}
	}
}
