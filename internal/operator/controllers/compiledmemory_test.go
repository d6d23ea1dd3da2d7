package controllers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// sized returns a TemplateController whose service account is in namespace tenant. It creates a ConfigMap for each App
// in the namespace with its own name. Its size is about kib KiB, at least 20.
func sized(name, tenant string, kib int) string {
	return fmt.Sprintf(`
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: %s}
spec:
  serviceAccountRef: {namespace: %s, name: deployer}
  watch: {apiVersion: example.org/v1, kind: App, namespaces: [%s]}
  children:
  - name: config
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .metadata.name }}"}
      #%s
`, name, tenant, name, strings.Repeat("#", kib<<10/2-10<<10))
}

// accepted returns the accepted TemplateControllers.
func (c *cluster) accepted(names ...string) string {
	var all []string
	for _, name := range names {
		if strings.HasPrefix(c.Condition("templatecontrollers", name, "Accepted"), "True") {
			all = append(all, name)
		}
	}
	return strings.Join(all, " ")
}

func (c *cluster) wantAccepted(when, want string) {
	c.T.Helper()
	c.Settle()
	if got := c.accepted("a", "b", "c", "other"); got != want {
		c.T.Errorf("%s: accepted are %q, want %q", when, got, want)
	}
}

func TestCompiledMemoryIsLimitedPerTenant(t *testing.T) {
	c := newCluster(t)
	c.room = 4 * 100 << 10 // 100 KiB per tenant
	c.start()
	for _, name := range []string{"a", "b", "c"} {
		c.KubectlApply(sized(name, "team", 40))
		c.Clock.SetTime(c.Clock.Now().Add(time.Minute))
	}
	c.KubectlApply(sized("other", "neighbors", 60))
	c.wantAccepted("one is beyond the share", "a b other")
	const want = "False InsufficientMemory: the compiled spec needs about 38 KiB of memory, which exceeds what is left of the 100 KiB limit for TemplateControllers whose service accounts are in namespace team: " +
		"shorten its templates and values, delete other TemplateControllers, or raise the memory limit of templater"
	if got := c.Condition("templatecontrollers", "c", "Ready"); got != want {
		t.Errorf("c is\n%s, want\n%s", got, want)
	}

	c.start()
	c.wantAccepted("after a restart", "a b other")
	c.KubectlApply(sized("b", "team", 50))
	c.wantAccepted("one that fits grows", "a b other")
	c.KubectlApply(sized("a", "team", 60))
	c.wantAccepted("one grows that does not fit then: the younger one keeps what it has, and the previous revision still counts", "b other")
	c.start()
	c.wantAccepted("what was accepted before the restart stays accepted, though another one is older", "b other")
	c.KubectlApply(sized("a", "team", 20))
	c.wantAccepted("it shrinks, but another one that waits does not fit beside it", "a b other")
	c.KubectlApply(sized("a", "team", 60))
	c.wantAccepted("it grows again", "b other")
	c.RemoveNow(request.Location{Resource: v1.Resource, Name: "b"})
	c.wantAccepted("another one is deleted", "a c other")
}

func TestRevisionsInRolloutCountAsCompiledMemory(t *testing.T) {
	const paused = "  rollout: {paused: true}\n"
	c := newCluster(t)
	c.room = 4 * 100 << 10 // 100 KiB per tenant
	c.start()
	c.KubectlApply(sized("a", "team", 32) + paused)
	c.wantAccepted("the first revision", "a")
	c.KubectlApply(sized("a", "team", 33) + paused)
	c.wantAccepted("the second one waits", "a")
	c.KubectlApply(sized("b", "team", 45))
	c.wantAccepted("another one does not fit beside both revisions", "a")
	c.start()
	c.wantAccepted("after a restart", "a")
	c.KubectlApply(sized("a", "team", 75) + paused)
	c.wantAccepted("a third revision does not fit beside the first", "")
	if got, want := c.Condition("templatecontrollers", "a", "Accepted"), "False InsufficientMemory: "; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "; the last accepted revision keeps working") {
		t.Errorf("a is %q, want %q and that the last accepted revision keeps working", got, want)
	}
	c.KubectlApply(sized("a", "team", 33) + paused)
	c.wantAccepted("the second revision again", "a")
	c.KubectlApply(sized("a", "team", 33) + "  rollout: {paused: false}\n")
	c.wantAccepted("its rollout ends, and the other one fits beside it", "a b")
}

func TestWriteBeyondCompiledMemoryIsRejected(t *testing.T) {
	c := newCluster(t)
	c.room = 4 * 100 << 10 // 100 KiB per tenant
	c.start()
	c.KubectlApply(sized("a", "team", 40))
	c.KubectlApply(sized("b", "team", 40))
	c.Settle()
	for _, row := range []struct {
		why, manifest string
		refused       bool
	}{
		{"a new one is beyond the share of its tenant", sized("c", "team", 40), true},
		{"a small one fits", sized("c", "team", 20), false},
		{"one of another tenant fits", sized("c", "neighbors", 40), false},
		{"one is written as it is", sized("b", "team", 40), false},
		{"one grows, and still fits", sized("b", "team", 50), false},
		{"one grows beyond the share", sized("b", "team", 80), true},
		{"one moves to another tenant", sized("b", "neighbors", 80), false},
	} {
		t.Run(row.why, func(t *testing.T) {
			tc := &v1.TemplateController{}
			if err := yaml.Unmarshal([]byte(row.manifest), tc); err != nil {
				t.Fatal(err)
			}
			result, err := c.controllers.Check(t.Context(), tc, nil)
			if err != nil {
				t.Fatal(err)
			}
			if refused := result.Rejection != nil && result.Rejection.Reason == v1.ReasonInsufficientMemory; refused != row.refused {
				t.Errorf("refused is %t, want %t: %v", refused, row.refused, result.Rejection)
			}
		})
	}
	c.wantAccepted("nothing was written", "a b")
}

func TestRejectionForMemoryKeepsChildren(t *testing.T) {
	c := newCluster(t)
	c.room = 4 * 100 << 10
	c.start()
	c.KubectlApply(sized("a", "team", 40))
	c.KubectlApply(with(t, anApp, "namespace: ns", "namespace: a"))
	c.Settle()
	if c.Find("configmaps", "a") == nil {
		t.Fatal("there is no child")
	}
	c.KubectlApply(sized("a", "team", 150))
	c.wantAccepted("it grows", "")
	if c.Find("configmaps", "a") == nil {
		t.Error("the child is gone")
	}
	if got, want := c.Condition("apps", "a", "Ready"), "True Ready"; !strings.HasPrefix(got, want) {
		t.Errorf("the parent is %s, want %s", got, want)
	}
	c.WantQuiet("once that is said")
	c.KubectlApply(sized("a", "team", 40))
	c.wantAccepted("it shrinks", "a")
}

func TestNewLeaderKeepsAcceptedSpecs(t *testing.T) {
	c := newCluster(t)
	c.room = 4 * 100 << 10
	c.standby()
	c.KubectlApply(sized("a", "team", 60))
	c.Settle()
	c.KubectlApply(sized("b", "team", 60))
	c.Settle()
	b := request.Location{Resource: v1.Resource, Name: "b"}
	c.KubectlEdit(b, func(o *unstructured.Unstructured) { // as if another replica had accepted it
		if err := unstructured.SetNestedSlice(o.Object, []any{map[string]any{
			"type": "Accepted", "status": "True", "reason": "Accepted", "message": "", "observedGeneration": o.GetGeneration(), "lastTransitionTime": "2026-01-01T00:00:00Z",
		}}, "status", "conditions"); err != nil {
			t.Fatal(err)
		}
	})
	c.controllers.Lead()
	c.wantAccepted("the standby leads", "b")
}

// TestRejectionForMemorySkipsCompilation also counts the compilations of the others: one per change.
func TestRejectionForMemorySkipsCompilation(t *testing.T) {
	c := newCluster(t)
	c.room = 4 * 100 << 10
	compiled := map[string]int{}
	c.startWith(Options{Schemas: set{}})
	c.controllers.checker.Lint = func(pause func() error, tc *v1.TemplateController, before *spec.Compiled, known openapi.Set) (lint.Result, error) {
		if before == nil {
			compiled[tc.Name]++
		}
		result, err := lint.Recheck(pause, tc, before, known)
		if tc.Name == "b" { // because of a kind, so that the operator refreshes the schemas and checks again
			result.Rejection = spec.Rejectf(v1.ReasonInvalidTemplate, "for a reason")
		}
		return result, err
	}
	c.KubectlApply(sized("a", "team", 110))
	c.KubectlApply(sized("b", "other", 60))
	c.Settle()
	for _, e := range c.controllers.tracked {
		e.stale = c.Clock.Now()
	}
	c.controllers.Lead()
	c.Settle()
	if compiled["a"] != 0 || compiled["b"] != 1 {
		t.Errorf("compiled are %v, want b once", compiled)
	}
}
