package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/templater-dev/templater/e2e/cluster/audit"
	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// slow is the timeout for changes that templater polls every 30 s.
const slow = soon + 30*time.Second

// secret matches the data of every row, as text and as a number.
var secret = regexp.MustCompile(`s3cr3t|31337313`)

// usualParent is the default spec of a row's Widget.
const usualParent = `{text: s3cr3t-text, list: [s3cr3t-item], number: 31337313}`

// TestBadInputIsReportedAndRecoverable checks everything that a user sees of each mistake in testdata/badinput,
// verbatim; mistakes that need no server are in internal/operator/controllers/testdata/mistakes. A file has up to three
// stages, each with
//
//	STAGE/objects.yaml     other objects; documents without a namespace use the row's
//	STAGE/delete           arguments of kubectl delete, one per line
//	STAGE/wait             arguments of kubectl wait
//	STAGE/allowed          permissions to wait for, one "list pods" per line
//	STAGE/denied           an object to wait for until the API server denies it
//	STAGE/controller.yaml  the spec of the TemplateController @id; it watches Widgets of namespace @ns
//	STAGE/parent.yaml      the spec of the Widget "one"
//	STAGE/want             all problems reported by conditions and Events
//
// "before" has no problems, "bad" has the mistake, "fixed" is the user's correction and must have no problems again.
// The mistake must not delete any child, and reconciling it again must not write anything. Each row has a child to
// lose: see keptRow. In before/none a row explains why it has none.
func TestBadInputIsReportedAndRecoverable(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/badinput/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no rows: %v", err)
	}
	s := newScope(t)
	kinds, err := os.ReadFile("testdata/badinput/kinds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.apply(string(kinds))
	op := startOperator(t, "--log-level=debug")
	t.Run("rows", func(t *testing.T) {
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".txtar")
			t.Run(name, func(t *testing.T) {
				parallel(t)
				newRow(t, s, op, file).run()
			})
		}
	})
	if text := secret.Find(op.logged()); text != nil {
		t.Errorf("the operator's log has a value: %s", lineWith(op.logged(), text))
	}
}

// row is one mistake.
type row struct {
	*scope
	op    *operator
	file  string
	what  *txtar.Archive
	files map[string]string
	// widget is true if the row has the usual parent.
	widget bool
}

func newRow(t *testing.T, s *scope, op *operator, file string) *row {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(file), ".txtar")
	suffix := s.id[strings.LastIndex(s.id, "-"):]
	r := &row{
		scope: &scope{t: t, ns: name + suffix, id: name + suffix, group: s.group, manager: s.manager},
		op:    op, file: file, what: archive, files: map[string]string{}, widget: true,
	}
	t.Cleanup(r.remove)
	for _, f := range archive.Files {
		r.files[f.Name] = string(f.Data)
		if strings.HasSuffix(f.Name, "/controller.yaml") && strings.Contains(string(f.Data), "watch:") {
			r.widget = false
		}
	}
	first := "bad"
	if !r.has("before/none") {
		first = "before"
		r.keptRow()
	}
	if r.widget && !r.has(first+"/parent.yaml") {
		r.files[first+"/parent.yaml"] = usualParent
	}
	return r
}

func (r *row) has(file string) bool { _, ok := r.files[file]; return ok }

func (r *row) run() {
	t := r.t
	t.Helper()
	if !secret.Match(txtar.Format(r.what)) && !r.widget {
		t.Error("the row has no secret")
	}
	r.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: "@ns"}}`)
	r.stage("before")
	r.expect("before", "")
	children := r.firstChildren()
	r.stage("bad")
	want := r.files["bad/want"]
	if *updateBadInput {
		want = r.settled()
		r.write(want)
	}
	if want == "" {
		t.Fatal("nothing is amiss")
	}
	r.expect("bad", want)
	r.keeps(children)
	r.lookAgain()
	r.keeps(children)
	r.expect("bad", want)
	r.tellsNoValue()
	r.stage("fixed")
	r.expect("fixed", r.files["fixed/want"])
	if !r.has("fixed/delete") { // otherwise they may be deleted with their parents
		maps.DeleteFunc(children, func(_ types.UID, name string) bool { return !strings.HasSuffix(name, kept) })
		r.keeps(children)
	}
	r.tellsNoValue()
}

// tellsNoValue checks that no condition or Event contains values of user objects.
func (r *row) tellsNoValue() {
	r.t.Helper()
	var all []string
	for _, o := range slices.Concat(r.mine(controllers), r.parents()) {
		for _, c := range conditionsOf(&o) {
			all = append(all, fmt.Sprintf("%s: %s %s: %s", nameOf(&o), c.Type, c.Reason, c.Message))
		}
	}
	for name, events := range r.events() {
		all = append(all, name+": "+strings.Join(events, "\n"))
	}
	for _, text := range all {
		if secret.MatchString(text) {
			r.t.Errorf("a value is reported: %s", text)
		}
	}
}

// stage applies the files of a stage.
func (r *row) stage(stage string) {
	r.t.Helper()
	file := func(name string) string { return r.files[stage+"/"+name] }
	r.apply(file("objects.yaml"))
	for object := range strings.Lines(file("delete")) {
		r.kubectl("delete", "--wait=false", strings.TrimSpace(r.expand(object)))
	}
	for what := range strings.Lines(file("wait")) {
		r.kubectl(append([]string{"wait", "--timeout=30s"}, strings.Fields(r.expand(what))...)...)
	}
	for right := range strings.Lines(file("allowed")) {
		verb, resource, _ := strings.Cut(strings.TrimSpace(r.expand(right)), " ")
		gr := schema.ParseGroupResource(resource)
		r.waitAllowed(r.op.user, authorizationv1.ResourceAttributes{Verb: verb, Group: gr.Group, Resource: gr.Resource, Namespace: r.ns})
	}
	if probe := file("denied"); probe != "" {
		r.waitDenied(probe)
	}
	if spec := file("controller.yaml"); spec != "" {
		if !strings.Contains(spec, "watch:") {
			spec = "watch: {apiVersion: \"@group/v1\", kind: Widget, namespaces: [\"@ns\"]}\n" + spec
		}
		r.applyController("@id", spec)
	}
	if spec := file("parent.yaml"); spec != "" {
		r.apply("apiVersion: \"@group/v1\"\nkind: Widget\nmetadata: {name: one}\nspec:\n" + indent(spec))
	}
}

// waitDenied waits until the API server denies an object: admission rules take effect with a delay.
func (r *row) waitDenied(manifest string) {
	r.t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(r.expand(manifest)), &o.Object); err != nil {
		r.t.Fatal(err)
	}
	in, _, err := r.interfaceFor(o)
	if err != nil {
		r.t.Fatal(err)
	}
	eventually(r.t, soon, func() error {
		if _, err := in.Create(r.t.Context(), o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			return nil //nolint:nilerr // the expected denial
		}
		return fmt.Errorf("%s is not denied", o.GetKind())
	})
}

// expect waits until the report matches. Events outlive their cause, so they are compared only while the mistake is
// present.
func (r *row) expect(stage, want string) {
	r.t.Helper()
	var diff string
	err := poll.For(slow, 200*time.Millisecond, func() error {
		if r.t.Context().Err() != nil {
			return poll.Stop(r.t.Context().Err())
		}
		if diff = cmp.Diff(want, r.report(stage == "bad")); diff != "" {
			return errors.New("not as expected")
		}
		return nil
	})
	if err != nil {
		r.t.Fatalf("%s: %v (-want +got):\n%s", stage, err, diff)
	}
}

// children returns the UIDs of all children of the row's TemplateControllers.
func (r *row) children() map[types.UID]string {
	r.t.Helper()
	out := map[types.UID]string{}
	for _, tc := range r.mine(controllers) {
		kinds, _, _ := unstructured.NestedSlice(tc.Object, "status", "childKinds")
		for _, k := range kinds {
			kind, _ := k.(map[string]any)
			mapping, err := env.mapper.RESTMapping(groupKind(kind), fmt.Sprint(kind["version"]))
			if err != nil {
				continue // not served: no children
			}
			for _, o := range r.list(env.client.Resource(mapping.Resource), "templater.dev/controller="+tc.GetName()) {
				if o.GetDeletionTimestamp() == nil {
					out[o.GetUID()] = o.GetKind() + " " + o.GetName()
				}
			}
		}
	}
	return out
}

// keeps checks that none of those children was deleted.
func (r *row) keeps(children map[types.UID]string) {
	r.t.Helper()
	now := r.children()
	for uid, name := range children {
		if now[uid] == "" {
			r.t.Errorf("%s was deleted, or replaced", name)
		}
	}
}

// lookAgain makes the operator reconcile everything again, and checks that it writes nothing. Rejected requests are
// retried and do not count.
func (r *row) lookAgain() {
	r.t.Helper()
	needsAudit(r.t)
	before, logged := mark(r.t), len(r.op.logged())
	var looks []look
	for _, o := range slices.Concat(r.mine(controllers), r.parents()) {
		in, _, err := r.interfaceFor(&o)
		if err != nil {
			r.t.Fatal(err)
		}
		after := r.patch(in, o.GetName(), `{"metadata": {"annotations": {"look": "again"}}}`)
		name := after.GetName()
		if ns := after.GetNamespace(); ns != "" {
			name = ns + "/" + name
		}
		what := `msg="reconciled parent".* parent=/?` + name
		if o.GetKind() == "TemplateController" {
			what = `msg="reconciled TemplateController" controller=` + name
		}
		if !r.ignored(&o) {
			looks = append(looks, look{what, versionOf(r.t, after)})
		}
	}
	eventually(r.t, slow, func() error {
		log := r.op.logged()[logged:]
		for _, look := range looks {
			if !look.isIn(log) {
				return fmt.Errorf("the log does not have %s resourceVersion=%d or later", look.what, look.version)
			}
		}
		return nil
	})
	r.t.Logf("reconciled again: %d", len(looks))
	for _, e := range r.written(before) {
		r.t.Errorf("another look made a write: %s", e)
	}
}

// look identifies a log line: an object was reconciled in that version or a later one, because the operator's own write
// may overtake the change.
type look struct {
	what    string // regular expression
	version uint64
}

func (l look) isIn(log []byte) bool {
	for _, m := range regexp.MustCompile(l.what+` resourceVersion=(\d+)`).FindAllSubmatch(log, -1) {
		if version, err := strconv.ParseUint(string(m[1]), 10, 64); err == nil && version >= l.version {
			return true
		}
	}
	return false
}

func versionOf(t *testing.T, o *unstructured.Unstructured) uint64 {
	t.Helper()
	version, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// ignored reports whether the object is a parent that is not reconciled, because its TemplateController is not accepted
// or cannot read its kind.
func (r *row) ignored(o *unstructured.Unstructured) bool {
	if o.GetKind() == "TemplateController" {
		return false
	}
	for _, tc := range r.mine(controllers) {
		watched, _, _ := unstructured.NestedString(tc.Object, "spec", "watch", "kind")
		if watched == o.GetKind() && condition(&tc, "Ready", "True", "") == nil {
			return false
		}
	}
	return true
}

// written returns the operator's writes to the row's objects since the mark. It skips one status write per
// TemplateController: the counts are updated with a delay.
func (r *row) written(since audit.Mark) []audit.Event {
	r.t.Helper()
	late := map[string]bool{}
	events, err := env.cluster.Audit().Since(since, func(e audit.Event) bool {
		o := e.ObjectRef
		switch {
		case e.User.Username != r.op.user || e.ResponseStatus.Code >= http.StatusBadRequest,
			slices.Contains([]string{"get", "list", "watch"}, e.Verb),
			o.Namespace != r.ns && !strings.HasPrefix(o.Name, r.id):
			return false
		case o.Resource == "templatecontrollers" && !late[o.Name]:
			late[o.Name] = true
			return false
		}
		return true
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return events
}

func lineWith(text, part []byte) []byte {
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, part) {
			return line
		}
	}
	return nil
}
