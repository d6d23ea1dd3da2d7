package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/cluster/audit"
)

// diffMany is the number of parents. make test-diff uses 5,000.
var diffMany = flag.Int("diff-many", 20, "how many parents TestDiffReportsChangesWithoutWrites has")

// differs creates a ConfigMap, a Pod that is recreated, a Service, which has defaults, and a Secret, whose type is
// immutable.
const differs = `
watch: {apiVersion: "@group/v1", kind: Thing, namespaces: ["@ns"]}
children:
- name: map
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: {{ .metadata.name }}}
    data: {text: old}
- name: pod
  updateStrategy: {type: Recreate}
  template: |
    {{- if eq .metadata.name "p-0" "p-1" }}
    apiVersion: v1
    kind: Pod
    metadata: {name: {{ .metadata.name }}}
    spec: {containers: [{name: main, image: "example.org/image:v1"}]}
    {{- end }}
- name: service
  template: |
    {{- if eq .metadata.name "p-0" "p-1" }}
    apiVersion: v1
    kind: Service
    metadata: {name: {{ .metadata.name }}}
    spec: {ports: [{port: 80}]}
    {{- end }}
- name: secret
  template: |
    {{- if eq .metadata.name "p-0" }}
    apiVersion: v1
    kind: Secret
    metadata: {name: {{ .metadata.name }}}
    type: example.org/old
    {{- end }}
status: {readyCondition: ""}
`

// differently is differs after an edit.
func differently() string {
	return strings.NewReplacer("text: old", "text: new", "image:v1", "image:v2", "port: 80", "port: 81", "example.org/old", "example.org/new").Replace(differs)
}

// diffReports is the output of templater diff -o json.
type diffReports struct {
	Reports []struct {
		Summary struct {
			Parents, Changed, Rejected int
			Changes                    []struct {
				Verb, Kind string
				Count      int
			}
		}
		Parents []struct {
			Name    string
			Changes []struct{ Verb, Kind, Rejected, Diff string }
		}
	}
}

// diffRights are the read permissions of templater diff in a cluster.
const diffRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "@id-author"}
rules:
- {apiGroups: [templater.dev], resources: [templatecontrollers], verbs: [get, list]}
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "@id-author"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "@id-author"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "@id-author"}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: "@id-reader"}]
`

// TestDiffReportsChangesWithoutWrites compares an edited TemplateController with the existing one, and checks the audit
// log for writes.
func TestDiffReportsChangesWithoutWrites(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	s.manyThings(*diffMany)
	op := startOperator(t)
	s.controller(differs)
	s.apply(diffRights)
	const reading = `- {apiGroups: ["@group", ""], resources: [things, configmaps, pods, secrets, services], verbs: [get, list]}`
	s.grant("reads", "@id-reader", reading)
	s.grant("writes", "@id-author", reading+`
- {apiGroups: [""], resources: [configmaps, pods, secrets, services], verbs: [create, patch]}`)
	s.waitAllowed(s.expand("@id-author"), authorizationv1.ResourceAttributes{Namespace: s.ns, Resource: "services", Verb: "patch"})
	s.waitMade()
	op.Stop()

	author := env.userKubeconfig(t, s.expand("@id-author"))
	if out, code := s.templater("diff", "-f", s.controllerFile(differs), "--kubeconfig", author); code != 0 || !strings.Contains(out, fmt.Sprintf("none of %d parents changes", *diffMany)) {
		t.Errorf("without an edit, it exit code %d, output:\n%s", code, out)
	}
	file := s.controllerFile(differently())
	before, began := mark(t), time.Now()
	out, code := s.templater("diff", "-f", file, "-o", "json", "--limit", "2", "--kubeconfig", author)
	took := time.Since(began)
	t.Logf("%d parents after %s", *diffMany, took.Round(100*time.Millisecond))
	if took > time.Minute {
		t.Error("that is longer than a minute")
	}
	s.checkDifference(out, code)
	if out, code := s.templater("tree", "things."+s.group, "p-0", "-n", s.ns, "--kubeconfig", author); code != 0 || !strings.Contains(out, s.expand("   ├─ children[map]\n   │  └─ ConfigMap @ns/p-0: ready\n")) {
		t.Errorf("templater tree exit code %d, output:\n%s", code, out)
	}
	s.onlyTried(before)
	s.diffWithoutRights(file)
	s.treeOfOneThatGoes(author)
	if out, code := s.templater("rbac", file, "--cluster", "--kubeconfig", author); code != 0 || !strings.Contains(out, s.expand("- apiGroups: [@group] # the parents\n  resources: [things]\n")) {
		t.Errorf("templater rbac --cluster exit code %d, output:\n%s", code, out)
	}
}

// treeOfOneThatGoes deletes a parent that has a finalizer of another author.
func (s *scope) treeOfOneThatGoes(author string) {
	s.t.Helper()
	things := env.client.Resource(schema.GroupVersionResource{Group: s.group, Version: "v1", Resource: "things"}).Namespace(s.ns)
	if _, err := things.Patch(s.t.Context(), "p-1", types.MergePatchType, []byte(`{"metadata": {"finalizers": ["example.org/kept"]}}`), metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
	if err := things.Delete(s.t.Context(), "p-1", metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	out, code := s.templater("tree", "things."+s.group, "p-1", "-n", s.ns, "--kubeconfig", author)
	if code != 0 || !strings.HasPrefix(out, s.expand("Thing @ns/p-1: being deleted\n")) || !strings.Contains(out, s.expand("ConfigMap @ns/p-1: ready\n")) {
		s.t.Errorf("templater tree of a parent that is being deleted: exit code %d, output:\n%s", code, out)
	}
	if _, err := things.Patch(s.t.Context(), "p-1", types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// waitMade waits until all children exist.
func (s *scope) waitMade() {
	s.t.Helper()
	eventually(s.t, 5*soon, func() error {
		o, err := env.client.Resource(controllers).Get(s.t.Context(), s.id, getOptions)
		if err != nil {
			return err
		}
		if n, _, _ := unstructured.NestedInt64(o.Object, "status", "children", "total"); n != int64(*diffMany)+5 {
			return fmt.Errorf("%d children, want %d", n, *diffMany+5)
		}
		return nil
	})
}

// controllerFile writes the scope's TemplateController with another spec to a file.
func (s *scope) controllerFile(spec string) string {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "controller.yaml")
	text := "apiVersion: templater.dev/v1\nkind: TemplateController\nmetadata: {name: \"@id\"}\nspec:\n" + indent(spec)
	if err := os.WriteFile(file, []byte(s.expand(text)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return file
}

// templater runs a command, and returns its output and its exit code.
func (s *scope) templater(args ...string) (string, int) {
	s.t.Helper()
	var out bytes.Buffer
	command := exec.CommandContext(s.t.Context(), env.binary, args...)
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.String(), exit.ExitCode()
	} else if err != nil {
		s.t.Fatal(err)
	}
	return out.String(), 0
}

// checkDifference checks the output of templater diff for the edit.
func (s *scope) checkDifference(out string, code int) {
	s.t.Helper()
	var got diffReports
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 1 || len(got.Reports) != 1 || len(got.Reports[0].Parents) != 2 {
		s.t.Fatalf("exit code %d (%v), output:\n%s", code, err, out)
	}
	r := got.Reports[0]
	want := fmt.Sprintf("[{update ConfigMap %d} {update Secret 1} {update Service 2} {recreate Pod 2}]", *diffMany)
	if counts := fmt.Sprint(r.Summary.Changes); counts != want || r.Summary.Parents != *diffMany || r.Summary.Changed != *diffMany || r.Summary.Rejected != 1 {
		s.t.Errorf("the summary is %+v, want the changes %s", r.Summary, want)
	}
	for _, c := range slices.Concat(r.Parents[0].Changes, r.Parents[1].Changes) {
		switch {
		case c.Kind == "Secret" && !strings.Contains(c.Rejected, "type: field is immutable"),
			c.Kind == "Service" && !strings.Contains(c.Diff, "+    targetPort: 81\n"):
			s.t.Errorf("it says %s %s %q\n%s", c.Verb, c.Kind, c.Rejected, c.Diff)
		}
	}
}

// diffWithoutRights compares as a user with read permissions only.
func (s *scope) diffWithoutRights(file string) {
	s.t.Helper()
	out, code := s.templater("diff", "-f", file, "--summary", "--kubeconfig", env.userKubeconfig(s.t, s.expand("@id-reader")))
	note := fmt.Sprintf("%d writes are compared without the API server, because you are not allowed to create and patch configmaps, secrets, services", *diffMany+3)
	if code != 1 || !strings.Contains(out, note) || !strings.Contains(out, fmt.Sprintf("%d ConfigMaps would be changed", *diffMany)) {
		s.t.Errorf("without write permissions: exit code %d, output:\n%s", code, out)
	}
}

// onlyTried checks the author's requests since the mark.
func (s *scope) onlyTried(since audit.Mark) {
	s.t.Helper()
	tried := 0
	events, err := env.cluster.Audit().Since(since, func(e audit.Event) bool { return e.User.Username == s.expand("@id-author") })
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range events {
		switch dry := strings.Contains(e.RequestURI, "dryRun=All"); {
		case e.Verb == "patch" && dry:
			tried++
		case !slices.Contains([]string{"get", "list"}, e.Verb):
			s.t.Errorf("it has written: %s %s", e.Verb, e.RequestURI)
		}
	}
	if tried < *diffMany {
		s.t.Errorf("%d writes were tried, want at least %d", tried, *diffMany)
	}
}
