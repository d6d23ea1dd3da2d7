package rollout

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/reconcile/revision"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// apps is a TemplateController that is rolled out.
const apps = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps, uid: u, generation: 2, resourceVersion: "7"}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  related:
  - {name: keys, apiVersion: v1, kind: Secret, select: "name: new"}
  - {name: maps, apiVersion: v1, kind: ConfigMap, namespaces: [team], select: "name: new"}
  values: {size: 2, added: {by: new}}
  children:
  - {name: map, template: "{apiVersion: v1, kind: ConfigMap, metadata: {name: new}, data: {a: '{{ .related.maps }}'}}"}
  future: kept
status:
  observedGeneration: 2
  className: ""
  currentRevision: NEWEST
  updateRevision: NEWEST
  parents: {total: 25, ready: 20, failed: 1, waiting: 1, updated: 22, suspended: 3}
  conditions:
  - {type: Accepted, status: "True", reason: Accepted, message: fine, lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: Watching, status: "True", reason: Watching, message: fine, lastTransitionTime: "2026-01-01T00:00:00Z"}
`

// earlier are specs of earlier revisions, the oldest first.
var earlier = []string{
	`{children: [{name: map, template: "{apiVersion: v1, kind: ConfigMap, metadata: {name: first}}"}], helpers: '[[ define "a" ]][[ end ]]', delimiters: {left: "[[", right: "]]"}}`,
	`{children: [{name: map, template: "{apiVersion: v1, kind: ConfigMap, metadata: {name: old}}{{ if .related.maps }}{{ end }}"}], values: {size: 1}, related: [{name: maps, apiVersion: v1, kind: ConfigMap, select: "name: old"}]}`,
}

// cluster is a fake API server with one TemplateController and its revisions.
type cluster struct {
	*fake.FakeDynamicClient

	t        *testing.T
	out, err bytes.Buffer
}

// newCluster replaces parts of apps: see memserver.With. NEWEST is the ID of its revision.
func newCluster(t *testing.T, pairs ...string) *cluster {
	t.Helper()
	manifest := memserver.With(t, apps, pairs...)
	now, err := liveOf(memserver.Parse(t, manifest))
	if err != nil {
		t.Fatal(err)
	}
	manifest = strings.ReplaceAll(manifest, "NEWEST", revision.IDOf(&now.Spec))
	objects := []runtime.Object{memserver.Parse(t, manifest)}
	for i, text := range earlier {
		spec := &v1.TemplateControllerSpec{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(memserver.Parse(t, "{apiVersion: v1, kind: Spec, spec: "+text+"}").Object["spec"].(map[string]any), spec); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, revisionOf(t, i+1, spec, "u"))
	}
	objects = append(objects, revisionOf(t, 4, &now.Spec, "u"), revisionOf(t, 9, &now.Spec, "other"))
	c := &cluster{t: t, FakeDynamicClient: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		v1.Resource: "TemplateControllerList", v1.NamespacedResource: "NamespacedTemplateControllerList", v1.RevisionResource: "TemplateRevisionList",
	}, objects...)}
	return c
}

func revisionOf(t *testing.T, number int, spec *v1.TemplateControllerSpec, uid types.UID) *unstructured.Unstructured {
	t.Helper()
	text, err := revision.Encode(revision.Of(spec))
	if err != nil {
		t.Fatal(err)
	}
	data, err := revision.Compress(text)
	if err != nil {
		t.Fatal(err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&v1.TemplateRevision{Controller: v1.RevisionOwner{Name: "apps", UID: uid}, Revision: int64(number), Data: data})
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{Object: content}
	o.SetAPIVersion(v1.GroupVersion.String())
	o.SetKind(v1.KindTemplateRevision)
	o.SetName(revision.Name("apps", uid, revision.ID(text)))
	o.SetLabels(map[string]string{v1.LabelControllerUID: string(uid)})
	if err := unstructured.SetNestedField(o.Object, noon.Add(-time.Duration(10-number)*time.Hour).Format(time.RFC3339), "metadata", "creationTimestamp"); err != nil {
		t.Fatal(err)
	}
	return o
}

func (c *cluster) rollout() *Rollout {
	return &Rollout{Client: kube.NewObjects(c), Key: "apps", Command: "templater rollout", Out: &c.out, Err: &c.err, Now: func() time.Time { return noon }, Pause: time.Microsecond}
}

// refuse has requests with a verb fail.
func (c *cluster) refuse(verb, resource string, err error) {
	c.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
}

// meanwhile changes the object before the first write, which is then refused as the API server does.
func (c *cluster) meanwhile(verb string, change func(*unstructured.Unstructured)) {
	changed := false
	c.PrependReactor(verb, "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		if changed {
			return false, nil, nil
		}
		changed = true
		o := c.now()
		o.SetResourceVersion("8")
		change(o)
		if err := c.Tracker().Update(v1.Resource, o, ""); err != nil {
			c.t.Error(err)
		}
		return true, nil, apierrors.NewConflict(v1.Resource.GroupResource(), "apps", errors.New("it has changed"))
	})
}

func (c *cluster) now() *unstructured.Unstructured {
	c.t.Helper()
	o, err := c.Tracker().Get(v1.Resource, "", "apps")
	if err != nil {
		c.t.Fatal(err)
	}
	return o.(*unstructured.Unstructured).DeepCopy()
}

// writes are the requests that change something, in short.
func (c *cluster) writes() []string {
	var out []string
	for _, action := range c.Actions() {
		switch action := action.(type) {
		case clienttesting.PatchActionImpl:
			out = append(out, "patch "+action.PatchOptions.FieldManager+" "+string(action.Patch))
		case clienttesting.UpdateActionImpl:
			out = append(out, "update "+action.UpdateOptions.FieldManager+" "+strings.Join(action.UpdateOptions.DryRun, ",")+" "+action.Object.(*unstructured.Unstructured).GetResourceVersion())
		}
	}
	return out
}

// result is the error, or what is printed.
func (c *cluster) result(err error) string {
	if err == nil {
		return c.out.String() + c.err.String()
	}
	if _, failed := errors.AsType[*FailedError](err); failed {
		return "failed: " + err.Error()
	}
	return "error: " + err.Error()
}

// check compares the result and the writes.
func (c *cluster) check(err error, want string, writes ...string) {
	c.t.Helper()
	if diff := cmp.Diff(want, c.result(err)); diff != "" {
		c.t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(writes, c.writes()); diff != "" {
		c.t.Errorf("writes (-want +got):\n%s", diff)
	}
}

const (
	anywhere = "generation: 2"
	paused   = "spec:\n  rollout: {paused: true}\n  watch"
	newSpec  = "spec:\n  watch"
)

func patched(version int, rollout string) string {
	return `patch templater-rollout {"metadata":{"resourceVersion":"` + strconv.Itoa(version) + `"},"spec":{"rollout":` + rollout + `}}`
}

func TestPauseAndResume(t *testing.T) {
	for why, row := range map[string]struct {
		pairs  []string
		pause  bool
		want   string
		writes []string
	}{
		"pause without spec.rollout": {nil, true, "templatecontroller.templater.dev/apps paused\n", []string{patched(7, `{"paused":true}`)}},
		"pause again":                {[]string{newSpec, paused}, true, `failed: templatecontroller "apps" is already paused`, nil},
		"resume":                     {[]string{newSpec, paused}, false, "templatecontroller.templater.dev/apps resumed\n", []string{patched(7, `{"paused":null}`)}},
		"resume without a pause":     {nil, false, `failed: templatecontroller "apps" is not paused`, nil},
		"Argo CD manages it": {
			[]string{anywhere, "generation: 2, annotations: {argocd.argoproj.io/tracking-id: a}"}, true,
			"templatecontroller.templater.dev/apps paused\nWarning: Argo CD applies templatecontroller \"apps\" and may revert this change: commit spec.rollout.paused instead\n",
			[]string{patched(7, `{"paused":true}`)},
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t, row.pairs...)
			c.check(c.rollout().SetPaused(t.Context(), row.pause), row.want, row.writes...)
		})
	}
}

func TestFailedWrites(t *testing.T) {
	t.Run("only the status has changed, so the write is repeated", func(t *testing.T) {
		c := newCluster(t)
		c.meanwhile("patch", func(*unstructured.Unstructured) {})
		c.check(c.rollout().SetPaused(t.Context(), true), "templatecontroller.templater.dev/apps paused\n", patched(7, `{"paused":true}`), patched(8, `{"paused":true}`))
	})
	t.Run("the spec has changed", func(t *testing.T) {
		c := newCluster(t)
		c.meanwhile("patch", func(o *unstructured.Unstructured) { o.SetGeneration(3) })
		c.check(c.rollout().SetPaused(t.Context(), true), `failed: the spec of templatecontroller "apps" has changed in the meantime: check it, and try again`, patched(7, `{"paused":true}`))
	})
	t.Run("the object changes all the time", func(t *testing.T) {
		c := newCluster(t)
		c.refuse("patch", "*", apierrors.NewConflict(v1.Resource.GroupResource(), "apps", errors.New("it has changed")))
		want := `error: change TemplateController apps: Operation cannot be fulfilled on templatecontrollers.templater.dev "apps": it has changed`
		c.check(c.rollout().SetPaused(t.Context(), true), want, patched(7, `{"paused":true}`), patched(7, `{"paused":true}`), patched(7, `{"paused":true}`), patched(7, `{"paused":true}`), patched(7, `{"paused":true}`))
	})
	t.Run("the user is not allowed to write", func(t *testing.T) {
		c := newCluster(t)
		c.refuse("patch", "*", apierrors.NewForbidden(v1.Resource.GroupResource(), "apps", errors.New("no")))
		c.check(c.rollout().SetPaused(t.Context(), true), `error: change TemplateController apps: templatecontrollers.templater.dev "apps" is forbidden: no`, patched(7, `{"paused":true}`))
	})
	t.Run("there is no such object", func(t *testing.T) {
		c := newCluster(t)
		r := c.rollout()
		r.Key = v1.Key("team", "apps")
		c.check(r.SetPaused(t.Context(), true), `error: read NamespacedTemplateController team/apps: namespacedtemplatecontrollers.templater.dev "apps" not found`)
	})
	t.Run("the object has a field of another type", func(t *testing.T) {
		c := newCluster(t)
		o := c.now()
		o.Object["spec"].(map[string]any)["suspend"] = "yes"
		if err := c.Tracker().Update(v1.Resource, o, ""); err != nil {
			t.Fatal(err)
		}
		if got := c.result(c.rollout().SetPaused(t.Context(), true)); !strings.HasPrefix(got, "error: TemplateController apps cannot be read: ") {
			t.Error(got)
		}
	})
}

func TestHintsNameTheNamespace(t *testing.T) {
	r := &Rollout{Key: v1.Key("team", "apps"), Command: "kubectl templater rollout"}
	if got := r.hint("resume") + "; " + r.title() + "; " + r.reference(); got != `kubectl templater rollout resume apps -n team; namespacedtemplatecontroller "apps"; namespacedtemplatecontroller.templater.dev/apps` {
		t.Error(got)
	}
}

const (
	needed = "spec:\n  rollout: {approval: Required}\n  watch"
	update = "updateRevision: 0123456789abcdef"
)

func TestApprove(t *testing.T) {
	const (
		preview  = "updateRevision: 0123456789abcdef\n  preview: {revision: 0123456789abcdef, time: \"2026-01-01T11:55:00Z\", parents: 12, total: 25, create: 1, update: 2, recreate: 3, delete: 4, failing: 5, examples: [delete ConfigMap team/a]}"
		approved = "templatecontroller.templater.dev/apps approved\n"
		none     = "Revision 0123456789abcdef: there is no preview yet\n"
	)
	for why, row := range map[string]struct {
		pairs  []string
		id     string
		want   string
		writes []string
	}{
		"with a preview": {
			[]string{newSpec, needed, "updateRevision: NEWEST", preview}, "",
			"Revision 0123456789abcdef, for 12 of 25 parents, 5m ago:\n  create: 1, update: 2, recreate: 3, delete: 4, failing parents: 5\n  for example: delete ConfigMap team/a\n" + approved,
			[]string{patched(7, `{"approvedRevision":"0123456789abcdef"}`)},
		},
		"with the preview of another revision": {
			[]string{newSpec, needed, "updateRevision: NEWEST", strings.Replace(preview, "{revision: 0", "{revision: 1", 1)}, "", none + approved, []string{patched(7, `{"approvedRevision":"0123456789abcdef"}`)},
		},
		"this revision": {
			[]string{newSpec, needed, "updateRevision: NEWEST", update}, "0123456789abcdef", none + approved, []string{patched(7, `{"approvedRevision":"0123456789abcdef"}`)},
		},
		"Flux manages it": {
			[]string{newSpec, needed, "updateRevision: NEWEST", update, anywhere, "generation: 2, managedFields: [{manager: kustomize-controller, operation: Apply}]"}, "",
			none + approved + "Warning: Flux applies templatecontroller \"apps\" and may revert this change: commit spec.rollout.approvedRevision instead\n",
			[]string{patched(7, `{"approvedRevision":"0123456789abcdef"}`)},
		},
		"another revision": {
			[]string{newSpec, needed, "updateRevision: NEWEST", update}, "f123456789abcdef",
			`failed: revision f123456789abcdef of templatecontroller "apps" does not wait for approval: status.updateRevision is "0123456789abcdef"`, nil,
		},
		"no approval is required": {nil, "", `failed: templatecontroller "apps" needs no approval: spec.rollout.approval is not Required`, nil},
		"no new revision":         {[]string{newSpec, needed}, "", `failed: nothing to approve: no revision of templatecontroller "apps" waits for approval`, nil},
		"it is approved": {
			[]string{newSpec, strings.Replace(needed, "Required", "Required, approvedRevision: 0123456789abcdef", 1), "updateRevision: NEWEST", update}, "",
			`failed: revision 0123456789abcdef of templatecontroller "apps" is already approved`, nil,
		},
		"the status is stale": {
			[]string{newSpec, needed, anywhere, "generation: 3"}, "", `failed: templater has not processed the newest spec of templatecontroller "apps" yet: try again`, nil,
		},
		"preflight has refused it": {
			[]string{newSpec, needed, "updateRevision: NEWEST", update, "conditions:", "conditions:\n" + progressing("False", "PreflightFailed", "no")}, "",
			`failed: nothing to approve: the new revision of templatecontroller "apps" was refused by preflight, and the previous one keeps working: PreflightFailed: no`, nil,
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t, row.pairs...)
			c.check(c.rollout().Approve(t.Context(), row.id), row.want, row.writes...)
		})
	}
	t.Run("the preview is printed once if the write is repeated", func(t *testing.T) {
		c := newCluster(t, newSpec, needed, "updateRevision: NEWEST", update)
		c.meanwhile("patch", func(*unstructured.Unstructured) {})
		c.check(c.rollout().Approve(t.Context(), ""), none+approved, patched(7, `{"approvedRevision":"0123456789abcdef"}`), patched(8, `{"approvedRevision":"0123456789abcdef"}`))
	})
}

func progressing(status, reason, message string) string {
	return `  - {type: Progressing, status: "` + status + `", reason: ` + reason + `, message: "` + message + `", lastTransitionTime: "2026-01-01T00:00:00Z"}`
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
