package rollout

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
)

// specs of the revisions, with the fields of apps that no revision has.
const (
	restored1 = `{"children":[{"name":"map","template":"{apiVersion: v1, kind: ConfigMap, metadata: {name: first}}"}],"delimiters":{"left":"[[","right":"]]"},"future":"kept","helpers":"[[ define \"a\" ]][[ end ]]",` +
		`"related":[{"apiVersion":"v1","kind":"Secret","name":"keys"},{"apiVersion":"v1","kind":"ConfigMap","name":"maps","namespaces":["team"]}],"watch":{"apiVersion":"example.org/v1","kind":"App"}}`
	restored2 = `{"children":[{"name":"map","template":"{apiVersion: v1, kind: ConfigMap, metadata: {name: old}}{{ if .related.maps }}{{ end }}"}],"future":"kept",` +
		`"related":[{"apiVersion":"v1","kind":"Secret","name":"keys"},{"apiVersion":"v1","kind":"ConfigMap","name":"maps","namespaces":["team"],"select":"name: old"}],"values":{"size":1},"watch":{"apiVersion":"example.org/v1","kind":"App"}}`
)

func TestUndo(t *testing.T) {
	const write = "update templater-rollout  7"
	for why, row := range map[string]struct {
		pairs  []string
		number int64
		want   string
		spec   string // "" means that it is the same
		writes []string
	}{
		"the revision before the newest":      {nil, 0, "templatecontroller.templater.dev/apps rolled back to revision 2\n", restored2, []string{write}},
		"a certain revision":                  {nil, 2, "templatecontroller.templater.dev/apps rolled back to revision 2\n", restored2, []string{write}},
		"the newest revision is the spec now": {nil, 4, "templatecontroller.templater.dev/apps skipped rollback (the spec already matches revision 4)\n", "", nil},
		"there is no such revision":           {nil, 3, "failed: unable to find specified revision 3 in history: see templater rollout history apps", "", nil},
		"there are no revisions":              {[]string{"uid: u,", "uid: another,"}, 0, `failed: no rollout history found for templatecontroller "apps": there is no earlier revision`, "", nil},
		"another revision":                    {nil, 1, "templatecontroller.templater.dev/apps rolled back to revision 1\n", restored1, []string{write}},
		"it reads related objects that no longer exist": {
			[]string{"{name: maps,", "{name: other,", ".related.maps", ".related.other"}, 0,
			"failed: revision 2 does not fit the other fields of the spec: children[map]:1:63: unknown name .related.maps; known: .related.keys .related.other", "", nil,
		},
		"Argo CD manages it": {
			[]string{anywhere, "generation: 2, labels: {argocd.argoproj.io/instance: a}"}, 0,
			"templatecontroller.templater.dev/apps rolled back to revision 2\nWarning: Argo CD applies templatecontroller \"apps\" and may revert this change: use git revert instead\n", restored2, []string{write},
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t, row.pairs...)
			before := asJSON(t, c.now().Object["spec"])
			c.check(c.rollout().Undo(t.Context(), row.number, false), row.want, row.writes...)
			if row.spec == "" {
				row.spec = before
			}
			if diff := cmp.Diff(row.spec, asJSON(t, c.now().Object["spec"])); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUndoOfRejectedSpecRestoresNewestRevision(t *testing.T) {
	c := newCluster(t)
	o := c.now()
	if err := unstructured.SetNestedField(o.Object, "{{ nothing }}", "spec", "helpers"); err != nil {
		t.Fatal(err)
	}
	if err := c.Tracker().Update(v1.Resource, o, ""); err != nil {
		t.Fatal(err)
	}
	c.check(c.rollout().Undo(t.Context(), 0, false), "templatecontroller.templater.dev/apps rolled back to revision 4\n", "update templater-rollout  7")
}

func TestUndoReportsWhatTheRolloutNeeds(t *testing.T) {
	for why, row := range map[string]struct{ rollout, want string }{
		"approval":            {"{approval: Required}", "templatecontroller.templater.dev/apps needs approval: templater rollout approve apps\n"},
		"to be resumed":       {"{paused: true}", "templatecontroller.templater.dev/apps is paused: templater rollout resume apps\n"},
		"nothing":             {"{approval: None}", ""},
		"it has its approval": {"{approval: Required, approvedRevision: " + idOf(newCluster(t), 2) + "}", ""},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t, newSpec, "spec:\n  rollout: "+row.rollout+"\n  watch")
			c.check(c.rollout().Undo(t.Context(), 0, false), "templatecontroller.templater.dev/apps rolled back to revision 2\n"+row.want, "update templater-rollout  7")
		})
	}
}

func TestUndoDryRun(t *testing.T) {
	c := newCluster(t)
	c.check(c.rollout().Undo(t.Context(), 0, true), "templatecontroller.templater.dev/apps rolled back to revision 2 (server dry run)\n", "update templater-rollout All 7")
}

func TestUndoFailsIfTheSpecChanges(t *testing.T) {
	c := newCluster(t)
	c.meanwhile("update", func(o *unstructured.Unstructured) { o.SetGeneration(3) })
	c.check(c.rollout().Undo(t.Context(), 0, false), `failed: the spec of templatecontroller "apps" has changed in the meantime: check it, and try again`, "update templater-rollout  7")
}

func TestUndoWithoutPermission(t *testing.T) {
	c := newCluster(t)
	c.refuse("list", "templaterevisions", apierrors.NewForbidden(v1.RevisionResource.GroupResource(), "", errors.New("no")))
	c.check(c.rollout().Undo(t.Context(), 0, false), "error: list TemplateRevisions, which may contain secrets in spec.values: templaterevisions.templater.dev is forbidden: no")
}
