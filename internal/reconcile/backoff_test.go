package reconcile_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// TestPersistentRejectionsCostFewRequests counts the requests for one parent with two children that the API server rejects, during one hour that
// begins after ten minutes.
func TestPersistentRejectionsCostFewRequests(t *testing.T) {
	denied := reconciletest.Denial("", "patch", "configmaps", `in the namespace "ns"`)
	webhook := refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.example.org" denied the request`)
	refuse := func(err error) func(*cluster) {
		return func(c *cluster) {
			for _, child := range []string{"a", "b"} {
				c.Refuse["create configmaps "+child] = err
			}
		}
	}
	for _, row := range []struct {
		why         string
		prepare     func(*cluster)
		least, most int // requests in an hour
	}{
		{"a permission is missing", refuse(denied), 200, 250},
		{"a webhook denies", refuse(webhook), 20, 30},
		{"a webhook denies with 409", refuse(refusal(http.StatusConflict, metav1.StatusReasonConflict, `admission webhook "no.example.org" denied the request`)), 20, 30},
		{"the namespace does not exist", refuse(apierrors.NewNotFound(corev1.Resource("namespaces"), "ns")), 20, 30},
		{"somebody else has the names", func(c *cluster) {
			for _, child := range []string{"a", "b"} {
				c.KubectlApply("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: " + child + "}}")
			}
		}, 40, 60},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := newCluster(t)
			row.prepare(c)
			c.KubectlApply(apps)
			c.KubectlApply(app)
			c.after(time.Second)
			c.NoReviews = true // the rate of access reviews is limited in real time
			c.after(10 * time.Minute)
			if n := c.after(time.Hour); n < row.least || n > row.most {
				t.Errorf("%d requests in an hour, want %d to %d", n, row.least, row.most)
			}
		})
	}
}

// inNamespaces creates parents with one child each, in one namespace or in a namespace each.
func (c *cluster) inNamespaces(parents int, oneEach bool) []types.NamespacedName {
	var all []types.NamespacedName
	for i := range parents {
		name := types.NamespacedName{Namespace: "ns", Name: fmt.Sprint("parent-", i)}
		if oneEach {
			name.Namespace = fmt.Sprint("ns-", i)
		}
		o := reconciletest.AppWith(name, 0)
		o.SetUID(types.UID("uid-" + name.String()))
		o.Object["spec"] = map[string]any{"names": []any{fmt.Sprint("child-", i)}, "text": "x"}
		c.Store(request.Location{Resource: reconciletest.Kinds[schema.GroupKind{Group: "example.org", Kind: "App"}].Resource, Namespace: name.Namespace, Name: name.Name}, o)
		c.Refuse[fmt.Sprint("create configmaps child-", i)] = reconciletest.Denial("", "patch", "configmaps", fmt.Sprintf("in the namespace %q", name.Namespace))
		all = append(all, name)
	}
	c.Deliver()
	return all
}

// TestParentsMissingOnePermissionRetryInTurn counts the rejected writes of many parents that lack one permission, and checks that all of them
// succeed soon after it is granted.
func TestParentsMissingOnePermissionRetryInTurn(t *testing.T) {
	for _, row := range []struct {
		why         string
		oneEach     bool
		parents     int
		least, most int // rejected writes in ten minutes
	}{
		{"in one namespace", false, 200, 500, 620}, // one per second
		{"in many namespaces", true, 9, 150, 200},  // each twice per minute: as many permissions are missing
	} {
		t.Run(row.why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(apps)
			all := c.inNamespaces(row.parents, row.oneEach)
			c.after(time.Second)
			c.NoReviews = true // the rate of access reviews is limited in real time
			c.after(10 * time.Minute)
			if n := c.after(10 * time.Minute); n < row.least || n > row.most {
				t.Errorf("%d refused writes in ten minutes, want %d to %d", n, row.least, row.most)
			}
			for i := range row.parents {
				delete(c.Refuse, fmt.Sprint("create configmaps child-", i))
			}
			refused := c.after(35 * time.Second)
			for _, name := range all {
				if o := c.Objects[request.Location{Resource: reconciletest.Kinds[schema.GroupKind{Group: "example.org", Kind: "App"}].Resource, Namespace: name.Namespace, Name: name.Name}]; !ready(o.Object) {
					t.Fatalf("%s is not ready 35 seconds after the permission was granted, and %d requests", name, refused)
				}
			}
		})
	}
}

func ready(o map[string]any) bool {
	return strings.Contains(fmt.Sprint(o["status"]), "all children are ready")
}
