package reconcile_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestRejectedStatusIsReported(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Refuse["status apps one"] = refusal(http.StatusInternalServerError, "", ".status.count: expected string, got &{2}")
	c.Run()
	want := "one Warning StatusRejected: cannot write the status: .status.count: wrong type, expected string"
	if diff := cmp.Diff([]string{want}, c.Events); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
	result, _ := c.Reconcile("apps", "one")
	if result.Retry != problem.RetryBackoff || len(c.Events) != 1 {
		t.Errorf("retry %v with Events %v; want RetryBackoff, and the Event once", result.Retry, c.Events)
	}
}

func TestStatusRejectionIsRecordedOnceDespiteConflict(t *testing.T) {
	c := begun(t, apps, app)
	c.KubectlApply(newApp(withChildren("a", "b", "c")))
	c.Deliver()
	for _, answered := range []error{
		refusal(http.StatusInternalServerError, "", ".status.count: expected string, got &{3}"), conflict(one), notFound(one),
		refusal(http.StatusInternalServerError, "", ".status.count: expected string, got &{3}"),
	} {
		c.Refuse["status apps one"] = answered
		c.Reconcile("apps", "one")
	}
	if want := []string{"one Warning StatusRejected: cannot write the status: .status.count: wrong type, expected string"}; !slices.Equal(c.Events, want) {
		t.Errorf("Events %q, want %q", c.Events, want)
	}
}

func TestStatusOfUnservedKindIsRetriedLater(t *testing.T) {
	for _, row := range []struct {
		why, events string
		err         error
		retry       problem.Retry
	}{
		{"the parent has been deleted", "", notFound(one), problem.RetryNow},
		{"the kind is not served", "one Warning StatusRejected: cannot write the status: the API server does not serve this kind at the moment", reconciletest.Unserved(one), problem.RetryBackoff},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := begun(t, apps, app)
			c.KubectlApply(newApp(withChildren("a", "b", "c")))
			c.Deliver()
			c.Refuse["status apps one"] = row.err
			result, _ := c.Reconcile("apps", "one")
			if result.Retry != row.retry || strings.Join(c.Events, "\n") != row.events {
				t.Errorf("retry %v and Events %q, want %v and %q", result.Retry, c.Events, row.retry, row.events)
			}
		})
	}
}

func TestMissingStatusSubresourceCausesNoWrite(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, apps, "  status:\n    template: |\n      count: {{ len .children.maps }}\n", ""))
	c.KubectlApply(app)
	wantRequests(t, "at first", c.Run(), "create configmaps a", "create configmaps b", "status apps one")
	c.controllers.get("apps").Kind.Status = nil
	_, requests := c.Reconcile("apps", "one")
	wantRequests(t, "without a status subresource", requests)
}

func TestConditionsWithoutKnownOwnerAreKept(t *testing.T) {
	reconciletest.AtomicConditions(t)
	c := newCluster(t)
	c.KubectlApply(apps)
	before := c.KubectlApply(app)
	theirs := []any{map[string]any{"type": "Synced", "status": "True"}}
	before.Object["status"] = map[string]any{"conditions": theirs}
	c.Store(locationOf(before), before)
	c.Deliver()
	c.Run()
	if diff := cmp.Diff(map[string]any{"count": int64(2), "conditions": theirs}, c.Find("apps", "one").Object["status"]); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestObsoleteStatusFieldsAreRemoved(t *testing.T) {
	const status = "count: {{ len .children.maps }}"
	c := newCluster(t)
	c.KubectlApply(app)
	for _, step := range []struct {
		why, yields string
		want        map[string]any
	}{
		{"two fields", "count: 1\n      more: {a: null, b: x, c: [{d: null, e: z}]}", map[string]any{"count": int64(1), "more": map[string]any{"b": "x", "c": []any{map[string]any{"e": "z"}}}}},
		{"one of them", "count: 1", map[string]any{"count": int64(1)}},
		{"an empty mapping in place of one with fields", "count: 1\n      more: {}", map[string]any{"count": int64(1), "more": map[string]any{}}},
		{"null, so none", "count: null", map[string]any{}},
		{"nothing at all", "# nothing", map[string]any{}},
	} {
		c.KubectlApply(with(t, apps, status, step.yields))
		c.Run()
		got, _, _ := unstructured.NestedMap(c.Find("apps", "one").Object, "status")
		delete(got, "conditions")
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s: status (-want +got):\n%s", step.why, diff)
		}
	}
}

func TestEmptiedStatusIsCleared(t *testing.T) {
	withoutReady := with(t, apps, "  status:\n", "  status:\n    readyCondition: \"\"\n")
	c := newCluster(t)
	c.KubectlApply(withoutReady)
	c.KubectlApply(app)
	c.Run()
	c.KubectlApply(withStatus(t, withoutReady, "# nothing"))
	c.Requests = nil
	wantRequests(t, "nothing left to say", c.Run(), "status apps one")
	if status, ok := c.Find("apps", "one").Object["status"]; ok {
		t.Errorf("status %v is kept, want none", status)
	}
	if own, _ := memserver.Holdings(c.Find("apps", "one"), "templater/apps", "status"); len(own) != 0 {
		t.Errorf("templater still owns %v", own)
	}
	_, requests := c.Reconcile("apps", "one")
	wantRequests(t, "again", requests)
}

func TestUnknownStatusFieldIsOmitted(t *testing.T) {
	const yields = "count: {{ len .children.maps }}\n      coutn: 3\n      more: {known: a, unknown: b}"
	known := kind.Declared{{"spec": map[string]any{
		"group": "example.org", "names": map[string]any{"kind": "App", "plural": "apps"},
		"versions": []any{map[string]any{
			"name": "v1", "served": true, "subresources": map[string]any{"status": map[string]any{}},
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"properties": map[string]any{"status": map[string]any{"type": "object", "properties": map[string]any{
				"count": map[string]any{"type": "integer"}, "conditions": map[string]any{"type": "array"},
				"more": map[string]any{"type": "object", "properties": map[string]any{"known": map[string]any{"type": "string"}}},
			}}}}},
		}},
	}}}
	declared, err := known.Resolve(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "App"})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		why    string
		fields *kind.Fields
	}{
		{"by the schema that templater knows", declared.Status.Fields},
		{"by the answer of the server, which names one field at a time", nil},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(apps)
			c.KubectlApply(app)
			c.Run()
			c.KubectlApply(withStatus(t, apps, yields))
			c.Deliver()
			for c.RunControllers() {
			}
			running := c.controllers.get("apps")
			running.Kind.Status = &kind.StatusSchema{ObservedGeneration: true, Fields: row.fields}
			running.Cluster = strictly{strictly{running.Cluster, "coutn", ".status.coutn"}, "unknown", ".status.more.unknown"}
			_, requests := c.Reconcile("apps", "one")
			wantRequests(t, "at first", requests, "status apps one")
			got := c.Condition("apps", "one", "Ready")
			if want := "False StatusRejected: omitted from the status: .status.coutn: the schema has no such field; .status.more.unknown: the schema has no such field"; got != want {
				t.Errorf("ready condition\n%q, want\n%q", got, want)
			}
			status := maps.Clone(c.Find("apps", "one").Object["status"].(map[string]any))
			delete(status, "conditions")
			want := map[string]any{"count": int64(2), "more": map[string]any{"known": "a"}}
			if diff := cmp.Diff(want, status); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			_, requests = c.Reconcile("apps", "one")
			wantRequests(t, "again", requests)
		})
	}
}

// strictly is a Client that rejects a status with a certain key.
type strictly struct {
	controller.Client
	key, path string
}

func (w strictly) ApplyStatus(ctx context.Context, at request.Location, body []byte, manager string, force bool) (*object.Object, error) {
	if bytes.Contains(body, []byte(`"`+w.key+`":`)) {
		return nil, refusal(http.StatusInternalServerError, "", w.path+": field not declared in schema")
	}
	return w.Client.ApplyStatus(ctx, at, body, manager, force)
}

// choosy is a Client that rejects a status that contains a certain text.
type choosy struct {
	controller.Client
	not string
}

func (w choosy) ApplyStatus(ctx context.Context, at request.Location, body []byte, manager string, force bool) (*object.Object, error) {
	if bytes.Contains(body, []byte(w.not)) {
		return nil, refusal(http.StatusInternalServerError, "", ".status.count: field not declared in schema")
	}
	return w.Client.ApplyStatus(ctx, at, body, manager, force)
}

func TestOmittedStatusFieldIsReported(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(newApp(withChildren("a")))
	c.Run()
	running := c.controllers.get("apps")
	running.Cluster = choosy{running.Cluster, `"count":2`}
	c.KubectlApply(app)
	c.Reconcile("apps", "one")
	if got, want := c.Condition("apps", "one", "Ready"), "False StatusRejected: omitted from the status: .status.count: the schema has no such field"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	if got := c.controllers.tracked["apps"].counts.Parents; got.Ready != 0 || got.Failed != 1 {
		t.Errorf("counts %+v, want one that has failed", got)
	}
}

func TestEmptyStatusIsNotWritten(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, withStatus(t, apps, "# nothing"), "  status:\n", "  status:\n    readyCondition: \"\"\n"))
	c.KubectlApply(app)
	wantRequests(t, "a status without fields", c.Run(), "create configmaps a", "create configmaps b")
}

// heard is a Client that records the last status.
type heard struct {
	controller.Client
	body *string
}

func (w heard) ApplyStatus(ctx context.Context, at request.Location, body []byte, manager string, force bool) (*object.Object, error) {
	*w.body = string(body)
	return w.Client.ApplyStatus(ctx, at, body, manager, force)
}

func TestStatusPatchHasNameOfParent(t *testing.T) {
	for namespace, want := range map[string]string{"ns": `"metadata":{"name":"one","namespace":"ns","resourceVersion":`, "": `"metadata":{"name":"one","resourceVersion":`} {
		t.Run("namespace "+namespace, func(t *testing.T) {
			c := newCluster(t)
			parent, edited := with(t, app, "kind: App", "kind: Cluster", "namespace: ns, ", ""), with(t, apps, "kind: App", "kind: Cluster", "{name: {{ . }}}", "{name: {{ . }}, namespace: ns}")
			if namespace != "" {
				parent, edited = app, apps
			}
			c.KubectlApply(edited)
			c.KubectlApply(parent)
			c.Run()
			body := ""
			running := c.controllers.get("apps")
			running.Cluster = heard{running.Cluster, &body}
			c.KubectlApply(with(t, parent, "[a, b]", "[a, b, c]"))
			c.Reconciler.Reconcile(t.Context(), queue.Key{Controller: "apps", Parent: types.NamespacedName{Namespace: namespace, Name: "one"}})
			if !strings.Contains(body, want) {
				t.Errorf("namespace %q: %s, want %s", namespace, body, want)
			}
		})
	}
}

func TestReadyChildrenAreCounted(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	if got := c.controllers.tracked["apps"].counts.Children; got.Total != 2 || got.Ready != 2 {
		t.Errorf("counts %+v, want two that are ready", got)
	}
}

func TestForbiddenStatusWriteIsRetried(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Refuse["status apps one"] = reconciletest.Denial("", "patch", "apps/status", `in the namespace "ns"`)
	c.Run()
	if result, _ := c.Reconcile("apps", "one"); result.Retry != problem.RetryDenied {
		t.Errorf("retry %v, want RetryDenied", result.Retry)
	}
	if got := c.controllers.tracked["apps"].counts.Parents; got.Ready != 0 || got.Failed != 1 {
		t.Errorf("counts %+v, want one that has failed", got)
	}
}

func TestStaleControllerWatchKeepsRetryBackoff(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.RemoveNow(configMap("a"))
	c.Refuse["create configmaps a"] = errors.New("no answer")
	c.FailWatches("templatecontrollers", errors.New("no answer"))
	if result, _ := c.Reconcile("apps", "one"); result.Retry != problem.RetryBackoff {
		t.Errorf("retry %v, want RetryBackoff", result.Retry)
	}
}

// TestRejectedStatusAttemptsAreLimited counts the requests of one reconciliation.
func TestRejectedStatusAttemptsAreLimited(t *testing.T) {
	for why, row := range map[string]struct {
		err  error
		want int
	}{
		"it does not fit: as it is, with what was there before, and that in fewer and fewer words": {refusal(http.StatusInternalServerError, "", "too large"), 4},
		"a field has another type: as it is, and with what was there before":                       {refusal(http.StatusInternalServerError, "", ".status.count: expected string, got &{2}"), 2},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(apps)
			c.KubectlApply(newApp(withChildren("a")))
			c.Run()
			c.KubectlApply(app)
			c.Refuse["status apps one"] = row.err
			_, requests := c.Reconcile("apps", "one")
			wantRequests(t, why, requests, append([]string{"create configmaps b"}, slices.Repeat([]string{"status apps one"}, row.want)...)...)
		})
	}
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(newApp(withChildren("a")))
	c.Run()
	c.KubectlApply(app)
	running := c.controllers.get("apps")
	running.Cluster = choosy{running.Cluster, `"count":2`}
	_, requests := c.Reconcile("apps", "one")
	wantRequests(t, "what was there before is taken", requests, "create configmaps b", "status apps one")
}
