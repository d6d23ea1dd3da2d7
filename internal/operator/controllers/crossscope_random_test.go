package controllers

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
)

// wanderers creates a ConfigMap and a ClusterRole for each App. Tests replace the words in capitals.
const wanderers = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: AppWATCH}ACCOUNT
  children:
  - name: role
    scope: Cluster
    updateStrategy: {type: STRATEGY}
    template: |
      {{ with .spec.role }}
      apiVersion: rbac.authorization.k8s.io/v1
      kind: ClusterRole
      metadata: {name: {{ . }}}
      {{ end }}
  - name: maps
    scope: SCOPE
    updateStrategy: {type: STRATEGY}
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: {{ .spec.map }}SPACE}
      data: {text: {{ .spec.text }}}
`

// wander performs a random action of users or the cluster.
func (c *cluster) wander(r *rand.Rand) string {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	parents := func() (at []request.Location) {
		for where := range c.Objects {
			if where.Resource.Resource == "apps" {
				at = append(at, where)
			}
		}
		slices.SortFunc(at, func(a, b request.Location) int { return strings.Compare(a.Namespace+a.Name, b.Namespace+b.Name) })
		return at
	}
	children := func() (at []request.Location) {
		for where := range c.Objects {
			if res := where.Resource.Resource; res == "configmaps" || res == "clusterroles" {
				at = append(at, where)
			}
		}
		slices.SortFunc(at, func(a, b request.Location) int { return strings.Compare(a.Namespace+a.Name, b.Namespace+b.Name) })
		return at
	}
	switch n := r.IntN(10); {
	case n < 3: // create or change a parent
		text := fmt.Sprintf("{apiVersion: example.org/v1, kind: App, metadata: {namespace: %s, name: %s, labels: {tier: %s}}, spec: {role: %q, map: %s, text: %s}}",
			pick("ns", "other"), pick("one", "two"), pick("front", "front", "back"), pick("", "r", "s"), pick("a", "b"), pick("x", "y"))
		o := parse(c.T, text)
		if c.Objects[locationOf(o)] == nil {
			c.PutWithUID(text, types.UID(fmt.Sprint("uid-", c.Version)))
		} else if c.Objects[locationOf(o)].GetDeletionTimestamp() == nil {
			c.KubectlApply(text)
		}
		return text
	case n < 5:
		if at := parents(); len(at) > 0 {
			where := at[r.IntN(len(at))]
			how := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground}[r.IntN(2)]
			c.KubectlDelete(where, how)
			return fmt.Sprint("delete ", where.Namespace, "/", where.Name, " ", how)
		}
	case n < 7:
		text := wander(pick)
		c.KubectlApply(text)
		return text[strings.Index(text, "spec:"):]
	case n == 7:
		c.start()
		return "restart"
	case n == 8:
		if at := children(); len(at) > 0 {
			where := at[r.IntN(len(at))]
			what := pick("gone", "strange", "edited")
			switch what {
			case "gone":
				c.RemoveNow(where)
			case "strange":
				c.KubectlEdit(where, func(o *unstructured.Unstructured) {
					annotations := o.GetAnnotations()
					annotations[v1.AnnotationParent] = "ns/nobody"
					o.SetAnnotations(annotations)
				})
			case "edited":
				c.KubectlEdit(where, func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"text": "z"} })
			}
			return what + " " + where.Resource.Resource + " " + where.Namespace + "/" + where.Name
		}
	default:
		if at := parents(); len(at) > 0 {
			where := at[r.IntN(len(at))]
			c.KubectlEdit(where, func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
			return "no finalizers of " + where.Namespace + "/" + where.Name
		}
	}
	return "nothing"
}

// wander fills in wanderers.
func wander(pick func(...string) string) string {
	scope := pick("Cluster", "Namespaced")
	space := ""
	if scope == "Cluster" {
		space = pick("", ", namespace: far", ", namespace: further")
	}
	return strings.NewReplacer(
		"WATCH", pick("", ", labelSelector: {matchLabels: {tier: front}}", ", namespaces: [ns]"), "ACCOUNT", pick("", "\n  serviceAccountRef: {namespace: team, name: robot}"),
		"STRATEGY", pick("Apply", "Recreate"), "SCOPE", scope, "SPACE", space,
	).Replace(wanderers)
}

var strandedSeeds = flag.Uint64("stranded-seeds", 25, "how many rounds TestRandomEditsLeaveNoOrphans has")

// TestRandomEditsLeaveNoOrphans performs many random actions, and then deletes all parents: no object of templater is
// left.
func TestRandomEditsLeaveNoOrphans(t *testing.T) {
	for seed := range *strandedSeeds {
		r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the same in each run
		c := newCluster(t)
		var log []string
		c.KubectlApply(wander(func(words ...string) string { return words[0] }))
		for range 12 {
			log = append(log, c.wander(r))
			if r.IntN(3) > 0 {
				c.Settle()
			}
		}
		c.rest()
		for at, o := range c.Objects {
			if res := at.Resource.Resource; (res == "configmaps" || res == "clusterroles") && !c.alive(o) {
				t.Fatalf("seed %d: %s %s/%s has no parent: %v, after\n%s", seed, res, at.Namespace, at.Name, o.Object["metadata"], strings.Join(log, "\n"))
			}
		}
		for at := range c.Objects {
			if at.Resource.Resource == "apps" && c.Objects[at].GetDeletionTimestamp() == nil {
				c.KubectlDelete(at, metav1.DeletePropagationBackground)
			}
		}
		c.rest()
		for at, o := range c.Objects {
			if at.Resource != v1.Resource && at.Resource != v1.RevisionResource {
				t.Fatalf("seed %d: %s %s/%s is left: %v, after\n%s", seed, at.Resource.Resource, at.Namespace, at.Name, o.Object["metadata"], strings.Join(log, "\n"))
			}
		}
	}
}

// rest settles until the garbage collector has nothing left to do.
func (c *cluster) rest() {
	c.T.Helper()
	for c.Settle(); c.CollectGarbage(); c.Settle() {
		c.Deliver()
	}
}

// alive reports whether the parent of a child exists and is not being deleted.
func (c *cluster) alive(child *unstructured.Unstructured) bool {
	for at, o := range c.Objects {
		if at.Resource.Resource == "apps" && string(o.GetUID()) == child.GetLabels()[v1.LabelParentUID] {
			return o.GetDeletionTimestamp() == nil
		}
	}
	return false
}
