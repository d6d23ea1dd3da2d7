package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/templater-dev/templater/e2e/cluster/audit"
)

var (
	webShops     = schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "webshops"}
	jobs         = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
)

// TestWebShopStartsInDependencyOrder follows the sample: no object of a child template is created or changed before its
// dependencies are ready.
func TestWebShopStartsInDependencyOrder(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScopeOf(t, "example.org")
	s.apply(strings.ReplaceAll(crdRights, "@user", operatorOf(t)))
	s.waitAllowed(operatorOf(t), authorizationv1.ResourceAttributes{Group: definitions.Group, Resource: definitions.Resource, Verb: "create"})
	s.own(definitions, "webshops.example.org")
	op := startOperator(t).of(s)
	s.apply(read(t, filepath.Join(env.root, "config/samples/webshop/templatecontroller.yaml")))
	s.waitController("webshops", ready)
	since := mark(t)
	shops, databases, migrations, webs := record(t, s.in(webShops), ""), record(t, s.in(statefulSets), ""), record(t, s.in(jobs), ""), record(t, s.in(deployments), "")
	s.shell("kubectl apply -f config/samples/webshop/example.yaml")
	s.waitShop(1)
	op.quiet(time.Second)
	if want, got := "NAME     READY   DATABASE   MIGRATION   WEB     AGE\ncorner   True    ready      ready       ready   ", s.kubectl("get", "shop"); !strings.HasPrefix(got, want) {
		t.Errorf("kubectl get shop: got\n%s, want\n%s", got, want)
	}
	first := messageOf(shops.all())
	t.Logf("the ready condition first said: %s", first)
	atDatabase := strings.HasPrefix(first, "children[migrate] waits for children[db]: StatefulSet ") && strings.HasSuffix(first, "; children[web] waits for children[migrate]")
	if !atDatabase && !strings.HasPrefix(first, "children[web] waits for children[migrate]: Job ") { // a database may be ready before the first reconciliation ends
		t.Errorf("the ready condition is %q, want the waiting child templates", first)
	}
	s.expectWrites(op, since, "create services corner", "create services corner-db", "create statefulsets corner-db", "create jobs corner-migrate-1", "create deployments corner-web")
	ready, migrated := versionSeen(t, databases, "corner-db", hasReplica), versionSeen(t, migrations, "corner-migrate-1", isComplete)
	expectAfter(t, "the Job is created", versionSeen(t, migrations, "corner-migrate-1", present), "the database is ready", ready)
	expectAfter(t, "the web servers are created", versionSeen(t, webs, "corner-web", present), "the Job is complete", migrated)

	t.Log("another version of the schema: the web servers follow when it is migrated to")
	since = mark(t)
	s.shell(`kubectl patch shop corner --type=merge -p '{"spec":{"schema":2}}'`)
	s.waitShop(2)
	op.quiet(time.Second)
	s.expectWrites(op, since, "create jobs corner-migrate-2", "delete jobs corner-migrate-1", "change deployments corner-web")
	expectAfter(t, "the web servers are rolled", versionSeen(t, webs, "corner-web", func(o *unstructured.Unstructured) bool { return o.GetGeneration() > 1 }),
		"the second Job is complete", versionSeen(t, migrations, "corner-migrate-2", isComplete))

	t.Log("database deleted: it is recreated, and nothing else changes")
	since = mark(t)
	old := waitFor(t, s.in(statefulSets), "corner-db", func(*unstructured.Unstructured) error { return nil })
	s.shell("kubectl delete statefulset corner-db --wait=false")
	waitFor(t, s.in(statefulSets), "corner-db", func(o *unstructured.Unstructured) error {
		if o.GetUID() == old.GetUID() || !hasReplica(o) {
			return errors.New("it is not back")
		}
		return nil
	})
	s.waitShop(2)
	op.quiet(time.Second)
	s.expectWrites(op, since, "create statefulsets corner-db")
}

// waitShop waits until all steps for the spec of that generation are done.
func (s *scope) waitShop(generation int64) {
	s.t.Helper()
	waitFor(s.t, s.in(webShops), "corner", func(o *unstructured.Unstructured) error {
		message, _ := readyOf(o)
		if message != "all children are ready: 5" || observed(o) != generation {
			return fmt.Errorf("generation %d: %s", observed(o), message)
		}
		return nil
	})
}

// readyOf returns the message of the ready condition, and whether the condition exists.
func readyOf(o *unstructured.Unstructured) (string, bool) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, each := range conditions {
		if c, _ := each.(map[string]any); c["type"] == "Ready" {
			message, _ := c["message"].(string)
			return message, true
		}
	}
	return "", false
}

// messageOf returns the first message of the ready condition.
func messageOf(events []watch.Event) string {
	for _, e := range events {
		if o, ok := e.Object.(*unstructured.Unstructured); ok {
			if message, told := readyOf(o); told {
				return message
			}
		}
	}
	return ""
}

// expectWrites expects these writes of the operator to children, in that order: "VERB RESOURCE NAME".
func (s *scope) expectWrites(op *operator, since audit.Mark, want ...string) {
	s.t.Helper()
	var got []string
	for _, e := range op.writes(since) {
		if e.ObjectRef.APIGroup == "example.org" || e.ResponseStatus.Code >= 300 {
			continue
		}
		verb := map[bool]string{true: "create", false: "change"}[e.ResponseStatus.Code == http.StatusCreated]
		if e.Verb == "delete" {
			verb = e.Verb
		}
		got = append(got, verb+" "+e.ObjectRef.Resource+" "+e.ObjectRef.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("writes of the operator (-want +got):\n%s", diff)
	}
}

// versionSeen returns the resource version at which a watch first observed an object that so accepts. All objects share
// one sequence of resource versions.
func versionSeen(t *testing.T, r *recorder, name string, so func(*unstructured.Unstructured) bool) int64 {
	t.Helper()
	var version int64
	eventually(t, soon, func() error { // the watch may lag
		for _, e := range r.all() {
			o, ok := e.Object.(*unstructured.Unstructured)
			if !ok || o.GetName() != name || !so(o) {
				continue
			}
			var err error
			version, err = strconv.ParseInt(o.GetResourceVersion(), 10, 64)
			return err
		}
		return fmt.Errorf("%s has not been seen so", name)
	})
	return version
}

func expectAfter(t *testing.T, later string, is int64, earlier string, was int64) {
	t.Helper()
	t.Logf("%s at %d, and %s at %d", earlier, was, later, is)
	if is <= was {
		t.Errorf("%s at %d, before %s at %d", later, is, earlier, was)
	}
}

func present(*unstructured.Unstructured) bool { return true }

func hasReplica(o *unstructured.Unstructured) bool {
	n, _, _ := unstructured.NestedInt64(o.Object, "status", "readyReplicas")
	return n > 0
}

func isComplete(o *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(each any) bool {
		c, _ := each.(map[string]any)
		return c["type"] == "Complete" && c["status"] == "True"
	})
}
