package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/preflight"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// newer are dry runs whose results have a newer resource version than all objects, so that a cache would take them.
type newer struct{ controller.Client }

func (n newer) Apply(ctx context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
	return n.version(n.Client.Apply(ctx, at, body, manager))
}

func (n newer) ApplyStatus(ctx context.Context, at request.Location, body []byte, manager string, force bool) (*object.Object, error) {
	return n.version(n.Client.ApplyStatus(ctx, at, body, manager, force))
}

func (newer) version(o *object.Object, err error) (*object.Object, error) {
	if err != nil {
		return nil, err
	}
	return object.From(memserver.Patch(o.Content(), map[string]any{"metadata": map[string]any{"resourceVersion": "999999"}}))
}

// planner returns a planner for the revisions of the cluster.
func (c *cluster) planner() *preflight.Planner {
	return preflight.New(preflight.Options{Client: func(string) controller.Client { return newer{c.DryRun()} }, Clock: c.Clock, Memory: c.shared.memory})
}

// revision returns a controller of apps that does not run, with the caches of the running one. It also watches these kinds.
func (c *cluster) revision(manifest string, kinds ...schema.GroupKind) *controller.Controller {
	c.T.Helper()
	tc := &v1.TemplateController{}
	if err := packed(c.T.(*testing.T), parse(c.T.(*testing.T), manifest)).Unmarshal(tc); err != nil {
		c.T.Fatal(err)
	}
	compiled, rejection := spec.Compile(tc.Name, &tc.Spec)
	if rejection != nil {
		c.T.Fatal(rejection.Message)
	}
	running := c.controllers.tracked["apps"]
	next := &tracked{tc: tc, compiled: compiled, filter: running.filter, childKinds: maps.Clone(running.childKinds), settled: running.settled, counts: status.NewCounts(), meter: running.meter, indexes: running.indexes}
	for _, gk := range kinds {
		next.childKinds[gk] = "v1"
	}
	for len(next.indexes) < len(compiled.Related) {
		next.indexes = append(next.indexes, related.NewIndex(nil, ""))
	}
	return c.controllers.build(next)
}

// preflight runs the preflight of a revision for parents in namespace ns.
func (c *cluster) preflight(next *controller.Controller, parents ...string) preflight.Verdict {
	in := preflight.Candidate{New: next, Current: c.controllers.tracked["apps"].current}
	for _, name := range parents {
		in.Parents = append(in.Parents, types.NamespacedName{Namespace: "ns", Name: name})
	}
	return c.planner().Preflight(c.Context(), in)
}

// moreData is apps with another value in each ConfigMap.
func moreData(t *testing.T) string {
	t.Helper()
	return with(t, apps, "data: {text: {{ $.spec.text }}}", "data: {text: {{ $.spec.text }}, more: x}")
}

var (
	errInvalid = refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "no "+secret,
		metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "data.text", Message: "Invalid value: " + secret})
	errWebhook = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.example.org" denied the request: `+secret)
)

const (
	invalidText = "data.text: invalid value"
	webhookText = `denied by admission webhook "no.example.org"`
)

func TestPreflight(t *testing.T) {
	unsupported := apierrors.NewBadRequest(`admission webhook "x.example.org" does not support dry run`)
	refuse := func(err error, requests ...string) func(*cluster) {
		return func(c *cluster) {
			for _, r := range requests {
				c.Refuse["dry-run "+r] = err
			}
		}
	}
	const job = "  - name: job\n    template: |\n      apiVersion: batch/v1\n      kind: Job\n      metadata: {name: j}\n"
	const late = "  - name: late\n    dependsOn: [job]\n    template: |\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: late}\n"
	addJob := func(more string) func(*testing.T) string {
		return func(t *testing.T) string { return with(t, apps, "  status:\n", job+more+"  status:\n") }
	}
	strategy := func(name string) func(*testing.T) string {
		return func(t *testing.T) string {
			return withTemplate(t, moreData(t), "updateStrategy: {type: "+name+"}")
		}
	}
	forTwo := func(update string) []string {
		return []string{"update ConfigMap ns/a for App ns/one: " + update, "update ConfigMap ns/c for App ns/two: " + update}
	}
	for why, row := range map[string]struct {
		next   func(*testing.T) string // nil = moreData
		kinds  []schema.GroupKind
		change func(*cluster)
		edit   func(*controller.Controller) // changes the revision
		want   preflight.Verdict
	}{
		"all writes are accepted": {want: preflight.Verdict{}},
		"nothing changes":         {next: func(*testing.T) string { return apps }, want: preflight.Verdict{}},
		"422 for one parent": {
			change: refuse(errInvalid, "update configmaps a"),
			want:   preflight.Verdict{Refused: forTwo(invalidText)[:1]},
		},
		"the schema does not match, with code 500": {
			change: refuse(refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, "failed to create typed patch object: .data.more: field not declared in schema"), "update configmaps a"),
			want:   preflight.Verdict{Refused: forTwo(".data.more: the schema has no such field")[:1]},
		},
		"403 for all parents": {
			change: refuse(errWebhook, "update configmaps a", "update configmaps c"),
			want:   preflight.Verdict{Refused: forTwo(webhookText)},
		},
		"403 for one of two parents": {
			change: refuse(errWebhook, "update configmaps a"),
			want:   preflight.Verdict{NotChecked: []string{forTwo(webhookText)[0] + " (not for all examined parents)"}},
		},
		"422 that the current revision gets, too": {
			change: func(c *cluster) {
				c.RemoveNow(configMap("a"))
				c.Refuse["dry-run create configmaps a"] = errInvalid
			},
			want: preflight.Verdict{NotChecked: []string{"create ConfigMap ns/a for App ns/one: " + invalidText + " (the current revision fails, too)"}},
		},
		"422 for an object that the current revision may write": {
			change: func(c *cluster) {
				c.RemoveNow(configMap("a"))
				c.Validate = func(at request.Location, content map[string]any, _ string) error {
					if data, _ := content["data"].(map[string]any); at == configMap("a") && data["more"] != nil {
						return errInvalid
					}
					return nil
				}
			},
			want: preflight.Verdict{Refused: []string{"create ConfigMap ns/a for App ns/one: " + invalidText}},
		},
		"422, and no response to the current revision": {
			change: func(c *cluster) {
				c.RemoveNow(configMap("a"))
				c.Validate = func(at request.Location, content map[string]any, _ string) error {
					switch data, _ := content["data"].(map[string]any); {
					case at != configMap("a"):
						return nil
					case data["more"] != nil:
						return errInvalid
					}
					return errors.New("no response")
				}
			},
			want: preflight.Verdict{Retry: true, NotChecked: []string{"create ConfigMap ns/a for App ns/one: " + invalidText + " (the current revision cannot be compared)"}},
		},
		"422 of a status": {
			next:   func(t *testing.T) string { return withStatus(t, apps, "count: 7") },
			change: refuse(refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "no", metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "status.count"}), "status apps one"),
			want:   preflight.Verdict{Refused: []string{"update the status of App ns/one: status.count: invalid value"}},
		},
		"422 of a finalizer": {
			next:   func(t *testing.T) string { return finalized(t) },
			change: refuse(errInvalid, "finalizers[finalize.templater.dev/apps] apps one"),
			want:   preflight.Verdict{Refused: []string{"update the finalizers of App ns/one: " + invalidText}},
		},
		"a webhook that denies with another code": {
			change: refuse(refusal(http.StatusBadRequest, "", `admission webhook "no.example.org" denied the request: `+secret), "update configmaps a", "update configmaps c"),
			want:   preflight.Verdict{NotChecked: forTwo(webhookText)},
		},
		"a webhook that does not support dry runs": {
			change: refuse(unsupported, "update configmaps a"),
			want:   preflight.Verdict{NotChecked: []string{`update ConfigMap ns/a for App ns/one: admission webhook "x.example.org" does not support dry runs`}},
		},
		"a namespace that does not exist": {
			change: refuse(apierrors.NewNotFound(corev1.Resource("namespaces"), "ns"), "update configmaps a"),
			want:   preflight.Verdict{NotChecked: forTwo("its namespace does not exist; create the namespace, or change metadata.namespace in the template")[:1]},
		},
		"a kind that is no longer served": {
			change: refuse(reconciletest.Unserved(configMap("a")), "update configmaps a"),
			want:   preflight.Verdict{NotChecked: forTwo("the API server does not serve this kind at the moment")[:1]},
		},
		"a kind that does not exist": {
			next: func(t *testing.T) string {
				return with(t, addJob("")(t), "apiVersion: batch/v1\n      kind: Job", "apiVersion: new.example.org/v1\n      kind: New")
			},
			want: preflight.Verdict{NotChecked: []string{
				"App ns/one: children[job]:1: the cluster does not serve kind New in new.example.org/v1: install it, or correct apiVersion and kind",
				"App ns/two: children[job]:1: the cluster does not serve kind New in new.example.org/v1: install it, or correct apiVersion and kind",
			}},
		},
		"a kind that is not watched": {
			next: addJob(""),
			want: preflight.Verdict{UnreadKinds: []schema.GroupVersionKind{{Group: "batch", Version: "v1", Kind: "Job"}}},
		},
		"a child template that waits for an object that does not exist yet": {
			next: addJob(late), kinds: []schema.GroupKind{reconciletest.BatchJob},
			change: func(c *cluster) { c.RemoveNow(reconciletest.AppAt("two")) },
			want: preflight.Verdict{NotChecked: []string{
				"App ns/one: children[late] waits for children[job]: Job ns/j: not started yet",
				"create ConfigMap ns/late for App ns/one: it waits for another write or object",
				"App ns/two: it does not exist",
			}},
		},
		"a kind that is watched but not recorded yet": {
			next: addJob(""), kinds: []schema.GroupKind{reconciletest.BatchJob},
			edit: func(next *controller.Controller) {
				s := next.Sources[reconciletest.BatchJob]
				s.Unrecorded = true
				next.Sources[reconciletest.BatchJob] = s
			},
			change: refuse(errInvalid, "create jobs j"),
			want: preflight.Verdict{Refused: []string{
				"create Job ns/j for App ns/one: " + invalidText, "create Job ns/j for App ns/two: " + invalidText,
			}},
		},
		"an object that is replaced": {
			next: strategy("Recreate"),
			want: preflight.Verdict{NotChecked: []string{
				"create ConfigMap ns/a for App ns/one: the object is deleted first", "create ConfigMap ns/c for App ns/two: the object is deleted first",
			}},
		},
		"objects that the update strategy does not change": {next: strategy("OnDelete"), want: preflight.Verdict{}},
		"an object of somebody else": {
			next: func(t *testing.T) string {
				return with(t, apps, "  status:\n", "  - name: own\n    template: |\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ .metadata.name }}}\n  status:\n")
			},
			change: func(c *cluster) {
				c.KubectlApply("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: one}}")
			},
			want: preflight.Verdict{NotChecked: []string{
				"App ns/one: ConfigMap ns/one already exists and has no owner: templater does not adopt it; delete it, or choose another name in the template",
			}},
		},
		"an object that was just replaced": {
			change: func(c *cluster) {
				c.Objects[configMap("a")].SetUID("other")
			},
			want: preflight.Verdict{NotChecked: []string{"App ns/one: ConfigMap ns/a is being replaced"}},
		},
		"a template error": {
			next: func(t *testing.T) string {
				return with(t, apps, "data: {text: {{ $.spec.text }}}", "data: {text: {{ $.spec.missing }}}")
			},
			want: preflight.Verdict{NotChecked: []string{
				"App ns/one: children[maps]:6:17: $.spec.missing has no value; set it, or use default, required or if",
				"App ns/two: children[maps]:6:17: $.spec.missing has no value; set it, or use default, required or if",
			}},
		},
		"429": {
			change: refuse(apierrors.NewTooManyRequests(secret, 1), "update configmaps a"),
			want:   preflight.Verdict{Retry: true, NotChecked: forTwo("the API server returned 429 TooManyRequests")[:1]},
		},
		"500": {
			change: refuse(reconciletest.ErrBroken, "update configmaps a"),
			want:   preflight.Verdict{Retry: true, NotChecked: forTwo("the API server returned 500 InternalError")[:1]},
		},
		"no response": {
			change: refuse(errors.New(secret), "update configmaps a"),
			want:   preflight.Verdict{Retry: true, NotChecked: forTwo("the API server did not respond")[:1]},
		},
		"a missing permission": {
			change: refuse(reconciletest.Denial("system:serviceaccount:templater-system:templater", "patch", "configmaps", `in the namespace "ns"`), "update configmaps a", "update configmaps c"),
			want: preflight.Verdict{Retry: true, NotChecked: forTwo(
				`templater is not allowed to patch configmaps in namespace ns: add {apiGroups: [""], resources: [configmaps], verbs: [create, delete, get, list, patch, watch]} to a ClusterRole labeled rbac.templater.dev/aggregate-to-templater: "true"`)},
		},
		"an admission plugin that has not discovered the kind of the parents yet": {
			change: refuse(refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion"), "update configmaps a", "update configmaps c"),
			want: preflight.Verdict{Retry: true, NotChecked: forTwo(
				"the admission plugin OwnerReferencesPermissionEnforcement has not discovered the kind of the parent yet: it does so every 30 seconds, and templater retries")},
		},
		"a parent that is being deleted": {
			change: func(c *cluster) {
				c.Put(c.Find("apps", "one"), func(o *unstructured.Unstructured) {
					now := metav1.NewTime(c.Clock.Now())
					o.SetDeletionTimestamp(&now)
					o.SetFinalizers([]string{"example.org/x"})
				})
			},
			want: preflight.Verdict{NotChecked: []string{"App ns/one: it is being deleted"}},
		},
		"a suspended definition": {
			next: func(t *testing.T) string { return withSpec(t, moreData(t), "suspend: true") },
			want: preflight.Verdict{NotChecked: []string{
				"App ns/one: its definition is suspended or rejected, or its kind is not served",
				"App ns/two: its definition is suspended or rejected, or its kind is not served",
			}},
		},
		"children that are not listed yet": {
			next: addJob(""), kinds: []schema.GroupKind{reconciletest.BatchJob},
			change: func(c *cluster) {
				c.Silent[watch.Want{Resource: reconciletest.Kinds[reconciletest.BatchJob].Resource, Labels: v1.LabelController, Role: watch.Child}] = true
			},
			want: preflight.Verdict{Retry: true, NotChecked: []string{"App ns/one: the caches are syncing", "App ns/two: the caches are syncing"}},
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, apps, newApp(withChildren("a")), newApp(reconciletest.WithName("two"), withChildren("c")))
			c.restless = true
			if row.change != nil {
				row.change(c)
			}
			next := moreData(t)
			if row.next != nil {
				next = row.next(t)
			}
			revision := c.revision(next, row.kinds...)
			if row.edit != nil {
				row.edit(revision)
			}
			before, facts := len(c.Requests), c.memories(nil)
			got := c.preflight(revision, "one", "two")
			if diff := cmp.Diff(facts, c.memories(nil)); diff != "" {
				t.Errorf("state (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if text := fmt.Sprint(got); strings.Contains(text, secret) {
				t.Errorf("the verdict has a value: %s", text)
			}
			for _, r := range c.Requests[before:] {
				if !strings.HasPrefix(r, "dry-run ") && !strings.HasPrefix(r, "get ") {
					t.Errorf("request %q is no dry run", r)
				}
			}
		})
	}
}

// TestPreflightChangesNothing runs a preflight that writes in each way. All state that outlives a reconciliation is as before, and the real
// reconciliations that follow make the same requests as without a preflight.
func TestPreflightChangesNothing(t *testing.T) {
	next := withSpec(t, with(t, withStatus(t, moreData(t), "count: {{ len .children.maps }}\n      more: 1"), "{{ range .spec.names }}", `{{ range append .spec.names "new" | rest }}`), "finalize: {order: Reverse}")
	roll := func(t *testing.T, planned bool) (*cluster, []string) {
		c := newCluster(t)
		meters := reconciletest.NewMeters()
		c.controllers.meters = meters
		c.Begin(apps, app)
		if planned {
			facts, requests := c.memories(meters), len(c.Requests)
			if got := c.preflight(c.revision(next), "one"); len(got.Refused)+len(got.NotChecked) > 0 || got.Retry {
				t.Errorf("verdict %+v, want no refusal", got)
			}
			wantRequests(t, "preflight", c.Requests[requests:],
				"dry-run finalizers[finalize.templater.dev/apps] apps one", "dry-run update configmaps b", "dry-run create configmaps new", "dry-run delete configmaps a", "dry-run status apps one")
			if diff := cmp.Diff(facts, c.memories(meters)); diff != "" {
				t.Errorf("state (-before +after):\n%s", diff)
			}
			c.WantQuiet("preflight")
		}
		before := len(c.Requests)
		c.KubectlApply(next)
		c.Settle()
		return c, slices.Clone(c.Requests[before:])
	}
	with, requests := roll(t, true)
	without, want := roll(t, false)
	if diff := cmp.Diff(want, requests); diff != "" {
		t.Errorf("requests of the rollout (-without +with a preflight):\n%s", diff)
	}
	if diff := cmp.Diff(without.Events, with.Events); diff != "" {
		t.Errorf("Events (-without +with a preflight):\n%s", diff)
	}
}

// memories returns what is stored, and what the process remembers about parents and objects. meters may be nil.
func (c *cluster) memories(meters *reconciletest.Meters) map[string]any {
	out := map[string]any{"version": c.Version, "events": len(c.Events), "asked": len(c.Asked), "objects": len(c.Objects), "counts": c.parentCounts(), "queued": c.Queued()}
	t := c.T.(*testing.T)
	out["history"] = reconciletest.Lengths(t, c.shared.History, "Pacer.lines", "Absences.since", "Orphaning.parents", "Attempts.since", "Breaker.spent")
	out["problems"] = reconciletest.Lengths(t, c.shared.recorder, "last", "faults", "dropped")
	out["permissions"] = reconciletest.Lengths(t, c.shared.waiting, "of", "groups") + reconciletest.Lengths(t, c.shared.rights, "found")
	out["memory"] = c.shared.memory.Held()
	if meters != nil {
		out["metrics"] = fmt.Sprint(meters.Each["apps"].Counts)
	}
	out["summaries"] = fmt.Sprint(c.controllers.tracked["apps"].counts.ByParent)
	for want, cache := range c.Caches {
		cache.Each(func(o *object.Object) bool {
			out[fmt.Sprint(want, o)] = fmt.Sprintf("%p %s deleting %v owned %d", o, o.ResourceVersion(), o.Deleting(), o.Owned())
			return true
		})
	}
	return out
}

// TestPreflightKeepsSelections has a revision that selects other related objects. A change of those of the running revision still reaches the
// parent.
func TestPreflightKeepsSelections(t *testing.T) {
	c := begun(t, readers, reader("ns", "one", "{job: a, other: b}"), job("ns", "a", "{}", "{note: x}"), job("ns", "b", "{}", "{note: y}"))
	got := c.planner().DryRun(t.Context(), c.revision(with(t, readers, "name: {{ .spec.job }}", "name: {{ .spec.other }}")), configMapName("one"))
	if len(got.Writes) != 1 || got.Writes[0].What != "update ConfigMap ns/one" {
		t.Errorf("writes %+v, want an update of ConfigMap ns/one", got.Writes)
	}
	c.KubectlApply(job("ns", "a", "{}", "{note: z}"))
	wantRequests(t, "a change of a selected object", c.Run(), "update configmaps one")
}

func TestPreflightUsesAtMostThreeParents(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	names := []string{"one", "two", "three", "four"}
	for _, name := range names {
		c.KubectlApply(newApp(reconciletest.WithName(name), withChildren("of-"+name)))
	}
	c.Settle()
	before := len(c.Requests)
	c.preflight(c.revision(moreData(t)), names...)
	wantRequests(t, "preflight", slices.DeleteFunc(slices.Clone(c.Requests[before:]), func(r string) bool { return strings.Contains(r, " status ") }),
		"dry-run update configmaps of-one", "dry-run update configmaps of-two", "dry-run update configmaps of-three")
}

func TestDryRunSendsAtMostHundredWrites(t *testing.T) {
	var names []string
	for i := range 150 {
		names = append(names, fmt.Sprintf("n%03d", i))
	}
	c := begun(t, apps, newApp(withChildren(names...)))
	before := len(c.Requests)
	next := c.revision(moreData(t))
	got := c.preflight(next, "one")
	want := preflight.Verdict{NotChecked: []string{"App ns/one: 50 writes were not sent: a dry run has at most 100"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
	if n := len(c.Requests) - before; n != 100 {
		t.Errorf("%d requests, want 100", n)
	}
	if got := c.planner().Preview(t.Context(), next, []types.NamespacedName{configMapName("one")}); got.Update != 150 || got.Failing != 0 {
		t.Errorf("the preview counts %d updates and %d failing parents, want 150 and none", got.Update, got.Failing)
	}
}

func TestPreview(t *testing.T) {
	c := begun(t, apps, newApp(withChildren("a", "b")), newApp(reconciletest.WithName("two"), withChildren("c", "d")))
	c.restless = true
	others := with(t, moreData(t), "{{ range .spec.names }}", `{{ range append .spec.names (print "new-" .metadata.name) | rest }}`)
	both := []types.NamespacedName{configMapName("one"), configMapName("two"), configMapName("missing")}
	moved := with(t, apps, "  - name: maps\n    template: |\n      {{ range .spec.names }}", `  - name: space
    scope: Cluster
    template: |
      apiVersion: v1
      kind: Namespace
      metadata: {name: space-{{ .metadata.name }}}
  - name: inner
    scope: Cluster
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: inner-{{ .metadata.name }}, namespace: space-{{ .metadata.name }}}
  - name: maps
    template: |
      {{ range rest .spec.names }}`)
	for why, row := range map[string]struct {
		next   string
		refuse string
		want   v1.RolloutPreview
	}{
		"a namespace that the templates create is missing": {moved, "", v1.RolloutPreview{Parents: 2, Create: 4, Delete: 2, Examples: []string{
			"create Namespace space-one for App ns/one", "create ConfigMap space-one/inner-one for App ns/one", "delete ConfigMap ns/a for App ns/one",
			"create Namespace space-two for App ns/two", "create ConfigMap space-two/inner-two for App ns/two",
		}}},
		"nothing changes": {apps, "", v1.RolloutPreview{Parents: 2}},
		"objects are created, updated and deleted": {others, "", v1.RolloutPreview{Parents: 2, Create: 2, Update: 2, Delete: 2, Examples: []string{
			"update ConfigMap ns/b for App ns/one", "create ConfigMap ns/new-one for App ns/one", "delete ConfigMap ns/a for App ns/one",
			"update ConfigMap ns/d for App ns/two", "create ConfigMap ns/new-two for App ns/two",
		}}},
		"a refused write stops deletions": {others, "dry-run create configmaps new-one", v1.RolloutPreview{Parents: 2, Create: 2, Update: 2, Delete: 1, Failing: 1, Examples: []string{
			"update ConfigMap ns/b for App ns/one", "create ConfigMap ns/new-one for App ns/one",
			"update ConfigMap ns/d for App ns/two", "create ConfigMap ns/new-two for App ns/two", "delete ConfigMap ns/c for App ns/two",
		}}},
		"objects are replaced": {withTemplate(t, moreData(t), "updateStrategy: {type: Recreate}"), "", v1.RolloutPreview{Parents: 2, Recreate: 4, Examples: []string{
			"replace ConfigMap ns/a for App ns/one", "replace ConfigMap ns/b for App ns/one", "replace ConfigMap ns/c for App ns/two", "replace ConfigMap ns/d for App ns/two",
		}}},
		"objects wait for others": {withTemplate(t, moreData(t), "updateStrategy: {type: Apply, rollingUpdate: {maxUnavailable: 1}}", "readyWhen: 'false'"), "", v1.RolloutPreview{Parents: 2, Update: 4, Examples: []string{
			"update ConfigMap ns/a for App ns/one", "update ConfigMap ns/b for App ns/one", "update ConfigMap ns/c for App ns/two", "update ConfigMap ns/d for App ns/two",
		}}},
		"templates fail": {with(t, apps, "{{ $.spec.text }}", "{{ $.spec.missing }}"), "", v1.RolloutPreview{Parents: 2, Failing: 2}},
	} {
		t.Run(why, func(t *testing.T) {
			clear(c.Refuse)
			c.Refuse[row.refuse] = errInvalid
			c.Refuse["dry-run create configmaps inner-two"] = apierrors.NewNotFound(corev1.Resource("namespaces"), "space-two")
			row.want.Time = metav1.NewTime(c.Clock.Now())
			if diff := cmp.Diff(row.want, c.planner().Preview(t.Context(), c.revision(row.next, schema.GroupKind{Kind: "Namespace"}), both)); diff != "" {
				t.Errorf("preview (-want +got):\n%s", diff)
			}
		})
	}
}
