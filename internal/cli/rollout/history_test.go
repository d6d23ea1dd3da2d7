package rollout

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/revision"
)

func TestHistory(t *testing.T) {
	c := newCluster(t)
	c.check(c.rollout().History(t.Context(), 0), `templatecontroller.templater.dev/apps
REVISION   ID                 AGE   STATUS
1          `+idOf(c, 1)+`   9h    -
2          `+idOf(c, 2)+`   8h    -
4          `+idOf(c, 4)+`   6h    current
`)
	t.Run("a rollout is in progress", func(t *testing.T) {
		c := newCluster(t, "currentRevision: NEWEST", "currentRevision: "+idOf(c, 2))
		c.check(c.rollout().History(t.Context(), 0), `templatecontroller.templater.dev/apps
REVISION   ID                 AGE   STATUS
1          `+idOf(c, 1)+`   9h    -
2          `+idOf(c, 2)+`   8h    current
4          `+idOf(c, 4)+`   6h    update
`)
	})
	t.Run("no revisions", func(t *testing.T) {
		c := newCluster(t, "uid: u,", "uid: another,")
		c.check(c.rollout().History(t.Context(), 0), "templatecontroller.templater.dev/apps: no rollout history found\n")
	})
}

func TestHistoryPrintsOneRevision(t *testing.T) {
	c := newCluster(t)
	c.check(c.rollout().History(t.Context(), 2), "# templatecontroller.templater.dev/apps with revision #2, ID "+idOf(c, 2)+`
spec:
  children:
  - name: map
    template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: old}}{{ if .related.maps
      }}{{ end }}'
  related:
  - name: maps
    select: 'name: old'
  values:
    size: 1
`)
	t.Run("it does not exist", func(t *testing.T) {
		c := newCluster(t)
		c.check(c.rollout().History(t.Context(), 3), "failed: unable to find specified revision 3 in history: see templater rollout history apps")
	})
}

func TestUnreadableHistory(t *testing.T) {
	t.Run("not allowed", func(t *testing.T) {
		c := newCluster(t)
		c.refuse("list", "templaterevisions", apierrors.NewForbidden(v1.RevisionResource.GroupResource(), "", errors.New("no")))
		c.check(c.rollout().History(t.Context(), 0), "error: list TemplateRevisions, which may contain secrets in spec.values: templaterevisions.templater.dev is forbidden: no")
	})
	t.Run("no such TemplateController", func(t *testing.T) {
		c := newCluster(t)
		r := c.rollout()
		r.Key = "other"
		c.check(r.History(t.Context(), 0), `error: read TemplateController other: templatecontrollers.templater.dev "other" not found`)
	})
	for why, row := range map[string]struct {
		field string
		value any
		want  string
	}{
		"data is not compressed":             {"data", "eA==", "error: TemplateRevision NAME: decompress the revision: unexpected EOF"},
		"a field has the wrong type":         {"revision", "one", "error: TemplateRevision NAME: unrecognized type: int64"},
		"another TemplateController owns it": {"controller", map[string]any{"name": "apps", "uid": "x"}, "failed: unable to find specified revision 4 in history: see templater rollout history apps"},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			o := revisionNumber(c, 4)
			o.Object[row.field] = row.value
			if err := c.Tracker().Update(v1.RevisionResource, o, ""); err != nil {
				t.Fatal(err)
			}
			c.check(c.rollout().History(t.Context(), 4), strings.ReplaceAll(row.want, "NAME", o.GetName()))
		})
	}
}

func revisionNumber(c *cluster, number int64) *unstructured.Unstructured {
	c.t.Helper()
	now, err := c.rollout().get(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	name := revision.Name("apps", now.UID, idOf(c, number))
	o, err := c.Tracker().Get(v1.RevisionResource, "", name)
	if err != nil {
		c.t.Fatal(err)
	}
	return o.(*unstructured.Unstructured).DeepCopy()
}

func idOf(c *cluster, number int64) string {
	c.t.Helper()
	now, err := c.rollout().get(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	all, err := c.rollout().revisions(c.t.Context(), now)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, s := range all {
		if s.number == number {
			return s.id
		}
	}
	c.t.Fatalf("no revision %d", number)
	return ""
}
