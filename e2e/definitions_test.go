package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TestOversizedTemplateControllersDoNotExhaustMemory has valid TemplateControllers that would exceed templater's memory
// limit as shipped: six that take 90 MB each once compiled, and twenty of the maximum size. They are not deleted, so
// templater finds them after a restart. Then there are many stored ones that are never compiled.
func TestOversizedTemplateControllersDoNotExhaustMemory(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	goLimit, limit := shippedMemory(t)
	op := startOperatorIn(t, []string{"GOMEMLIMIT=" + goLimit}, operatorOf(t))
	n := newNeighbor(s)
	actions := func(number int) string { return strings.Repeat("{{1}}", number) }
	for i := range 6 {
		s.definition(fmt.Sprint("too-large-", i), slices.Repeat([]string{actions(52_000)}, 5)...)
	}
	for i := range 20 {
		s.definition(fmt.Sprint("large-", i), actions(16_600))
	}
	s.definition("arguments", "{{ and"+strings.Repeat(" .a", 80_000)+" }}")
	s.definition("arguments-that-are-there", "{{ $x := and"+strings.Repeat(" .spec", 40_000)+" }}")

	before := s.verdicts()
	count := map[string]int{}
	for _, verdict := range before {
		count[verdict]++
	}
	if count["InvalidTemplate"] != 7 || count["Accepted"] < 10 || count["InsufficientMemory"] < 1 || len(count) != 3 {
		t.Errorf("verdicts %v, want 7 too large, and some with insufficient memory", count)
	}
	waited := n.wait()
	op.withinMemory(limit)
	s.storeLarge(*storedMany)
	n.wait()
	op.withinMemory(limit)

	op.Stop()
	op = startOperatorIn(t, []string{"GOMEMLIMIT=" + goLimit}, operatorOf(t))
	again := n.wait()
	if diff := cmp.Diff(before, s.verdicts()); diff != "" {
		t.Errorf("the verdicts after a restart (-before +after):\n%s", diff)
	}
	op.withinMemory(limit)
	t.Logf("verdicts %v; a neighbor's parent waited %v, and %v after a restart", count, waited, again)
}

// definition applies a TemplateController with one child template per template, without waiting.
func (s *scope) definition(name string, templates ...string) {
	s.t.Helper()
	spec := `
watch: {apiVersion: "@group/v1", kind: Thing, namespaces: ["@ns"], labelSelector: {matchLabels: {side: nobody}}}
children:`
	for i, template := range templates {
		spec += fmt.Sprintf("\n- {name: e%d, template: '%s'}", i, template)
	}
	s.applyController("@id-"+name, spec)
}

// storedMany is small by default: each of them is sent to the operators of all parallel tests.
var storedMany = flag.Int("stored-many", 3, "how many TemplateControllers of 1.25 MB are stored in each of three ways that no webhook refuses")

// storeLarge creates TemplateControllers near the object size limit in three ways: with a class without an
// installation, enlarged during deletion, and with many labels. Their names lack the prefix of the scope, because not
// all of them get an Accepted condition.
func (s *scope) storeLarge(number int) {
	s.t.Helper()
	in := env.client.Resource(controllers)
	text := strings.Repeat("x", 250_000)
	large := make([]any, 5)
	for i := range large {
		large[i] = map[string]any{"name": fmt.Sprint("e", i), "template": text}
	}
	labels := map[string]any{}
	for i := range 10_000 {
		labels[fmt.Sprintf("%d-%s", i, strings.Repeat("a", 50))] = "a"
	}
	store := func(name string, metadata, spec map[string]any) {
		metadata["name"] = name
		spec["watch"] = map[string]any{"apiVersion": s.expand("@group/v1"), "kind": "Thing", "namespaces": []any{s.ns}, "labelSelector": map[string]any{"matchLabels": map[string]any{"side": "nobody"}}}
		if spec["children"] == nil {
			spec["children"] = []any{map[string]any{"name": "a", "template": "a"}}
		}
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "templater.dev/v1", "kind": "TemplateController", "metadata": metadata, "spec": spec}}
		if _, err := in.Create(s.t.Context(), o, metav1.CreateOptions{}); err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() {
			ctx := context.WithoutCancel(s.t.Context())
			_, _ = in.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			_ = in.Delete(ctx, name, metav1.DeleteOptions{})
		})
	}
	bloat := marshal(s.t, map[string]any{"spec": map[string]any{"children": large}})
	for i := range number {
		store(fmt.Sprintf("stored-%s-foreign-%d", s.id, i), map[string]any{}, map[string]any{"className": "nobody", "children": large})
		store(fmt.Sprintf("stored-%s-labels-%d", s.id, i), map[string]any{"labels": labels}, map[string]any{})
		deleted := fmt.Sprintf("stored-%s-deleted-%d", s.id, i)
		store(deleted, map[string]any{"finalizers": []any{"example.org/mine"}}, map[string]any{})
		if err := in.Delete(s.t.Context(), deleted, metav1.DeleteOptions{}); err != nil {
			s.t.Fatal(err)
		}
		if _, err := in.Patch(s.t.Context(), deleted, types.MergePatchType, bloat, metav1.PatchOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// verdicts waits until all TemplateControllers of the scope are reconciled, and returns the reasons of their Accepted
// conditions.
func (s *scope) verdicts() map[string]string {
	s.t.Helper()
	var reasons map[string]string
	eventually(s.t, soon, func() error {
		reasons = map[string]string{}
		all, err := env.client.Resource(controllers).List(s.t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, o := range all.Items {
			if !strings.HasPrefix(o.GetName(), s.id) {
				continue
			}
			list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			at := slices.IndexFunc(list, func(c any) bool { return c.(map[string]any)["type"] == "Accepted" }) //nolint:forcetypeassert // API server data
			if at < 0 {
				return errors.New(o.GetName() + " has no condition")
			}
			reasons[o.GetName()], _, _ = unstructured.NestedString(list[at].(map[string]any), "reason") //nolint:forcetypeassert // as above
		}
		return nil
	})
	return reasons
}

// shippedMemory returns the GOMEMLIMIT and the memory limit, in bytes, that templater is shipped with.
func shippedMemory(t *testing.T) (goLimit string, limit int64) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(env.root, "config", "manager", "deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)GOMEMLIMIT.*?value: (\w+).*limits:.*?memory: (\w+)`).FindSubmatch(text)
	if found == nil {
		t.Fatal("the Deployment has no GOMEMLIMIT and limit on memory")
	}
	quantity, err := resource.ParseQuantity(string(found[2]))
	if err != nil {
		t.Fatal(err)
	}
	return string(found[1]), quantity.Value()
}

// withinMemory expects that the operator's peak memory is within the container limit.
func (op *operator) withinMemory(limit int64) {
	op.t.Helper()
	most, err := mostMemoryOf(fmt.Sprintf("/proc/%d", op.command.Process.Pid))
	if err != nil {
		op.t.Fatal(err)
	}
	if op.t.Logf("the operator had at most %d of %d MiB", most>>20, limit>>20); most >= limit {
		op.t.Errorf("the operator had %d MiB of memory; the limit is %d", most>>20, limit>>20)
	}
}
