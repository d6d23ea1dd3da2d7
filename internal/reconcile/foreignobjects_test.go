package reconcile_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// found is an object that conflicts with a child of "one" of the TemplateController "apps".
type found struct {
	labels  []string // "controller", "parent", or with =VALUE for another value
	owner   string   // "KIND NAME UID"; "" = none
	sealed  string   // UID of the parent in its seal; "lost" = made with a lost key; "" = no seal
	deleted bool
}

func (f found) object(t *testing.T) *object.Object {
	t.Helper()
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  namespace: ns\n  name: a\n  labels: {x: y"
	for _, l := range f.labels {
		key, value, _ := strings.Cut(l, "=")
		switch {
		case key == "controller" && value == "":
			value = "apps"
		case value == "":
			value = "uid-one"
		}
		text += fmt.Sprintf(", %s: %s", map[string]string{"controller": v1.LabelController, "parent": v1.LabelParentUID}[key], value)
	}
	text += "}\n"
	if parts := strings.Fields(f.owner); len(parts) == 3 {
		text += fmt.Sprintf("  ownerReferences: [{apiVersion: example.org/v1, kind: %s, name: %s, uid: %s, controller: true}]\n", parts[0], parts[1], parts[2])
	}
	if f.deleted {
		text += "  deletionTimestamp: \"2026-01-01T00:00:00Z\"\n"
	}
	o := parse(t, text)
	memserver.Own(o, v1.FieldManagerPrefix+"apps", "", map[string]any{"f:data": map[string]any{}}) // anyone can forge this
	if f.sealed != "" {
		ring := &seal.Ring{}
		ring.Set(reconciletest.KeysOf(t, map[bool]string{true: "9", false: "1"}[f.sealed == "lost"]))
		subject := seal.Subject{Definition: reconciletest.Definition("apps"), Parent: seal.Parent{UID: types.UID(f.sealed), Kind: schema.GroupKind{Group: "example.org", Kind: "App"}, Name: configMapName("one")}, Kind: schema.GroupKind{Kind: "ConfigMap"}, Name: configMapName("a")}
		o.SetAnnotations(map[string]string{v1.AnnotationSeal: ring.Seal(subject, seal.Note{Entry: "maps"})})
	}
	return packed(t, o)
}

func TestConflictMessageNamesTheOwner(t *testing.T) {
	both := []string{"controller", "parent"}
	const parent, earlier, mine = "App one uid-one", "App one earlier", "uid-one"
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	running := c.controllers.get("apps")
	owner := running.Parent(configMapName("one"))
	w := &child.Wanted{Entry: &v1.Child{Name: "maps"}, Kind: reconciletest.Kinds[schema.GroupKind{Kind: "ConfigMap"}], Name: configMapName("a")}
	for why, row := range map[string]struct {
		found  found
		want   string // "" = templater owns it
		bereft bool   // whether it belongs to an earlier parent
	}{
		"all says so":            {found: found{both, parent, mine, false}},
		"its labels are gone":    {found: found{nil, parent, mine, false}},
		"its labels name others": {found: found{[]string{"controller=other", "parent=other"}, parent, mine, false}},
		"its owner reference is gone, as it is to outlive its parent": {found: found{both, "", mine, false}},
		"nothing is left but the seal":                                {found: found{nil, "", mine, false}},
		"the parent has made it in another way":                       {found{nil, parent, "", false}, "belongs to App one", false},
		"somebody has copied all but the seal": {found{both, parent, "", false},
			"is labeled as a child of this object, but has no seal (annotation templater.dev/seal): another client created it or removed the seal", false},
		"somebody has copied all but the seal and the owner reference": {found{both, "", "", false}, "has no seal", false},
		"somebody has copied the seal of another parent's child":       {found{both, parent, "uid-two", false}, "its seal is invalid: another client copied or modified the object", false},
		"the key of its seal is lost":                                  {found{both, parent, "lost", false}, "its seal was made with a key that templater does not have; restore that key", false},
		"nobody made it":                                               {found{nil, "", "", false}, "has no owner", false},
		"its label names another parent":                               {found{[]string{"controller", "parent=other"}, "", "", false}, "belongs to TemplateController apps for another parent, which may no longer exist: its label templater.dev/parent-uid contains the UID: templater does not adopt it", false},
		"its label names another controller":                           {found{[]string{"controller=other", "parent"}, "", "", false}, "belongs to TemplateController other", false},
		"another object controls it":                                   {found{both, "Other web u", mine, false}, "belongs to TemplateController apps for Other web", false},
		"another object of the kind controls it":                       {found{both, "App two u", mine, false}, "belongs to TemplateController apps for App two", false},
		"an object of the name and another kind controls it":           {found{nil, "Other one u", "", false}, "belongs to Other one", false},
		"an earlier parent has it":                                     {found{nil, earlier, "earlier", false}, "belongs to an earlier parent of the same name", true},
		"an earlier parent has it, and it has no seal":                 {found{both, earlier, "", false}, "belongs to an earlier parent of the same name", false},
		"an earlier parent has it, and its seal is for this one":       {found{both, earlier, mine, false}, "belongs to an earlier parent of the same name", false},
		"it is being deleted":                                          {found{both, parent, mine, true}, "is being deleted", false},
		"an earlier parent has it, and it is being deleted":            {found{nil, earlier, "earlier", true}, "is being deleted", false},
	} {
		t.Run(why, func(t *testing.T) {
			o := row.found.object(t)
			issue := running.Factory.InTheWay(o, w, owner)
			if (issue == nil) != (row.want == "") || issue != nil && !strings.Contains(issue.Message, row.want) {
				t.Errorf("got %+v, want %q", issue, row.want)
			}
			if got := running.Factory.MadeForEarlier(o, w.Kind.GroupKind(), owner); got != row.bereft {
				t.Errorf("bereft = %v, want %v", got, row.bereft)
			}
		})
	}
}

func TestStaleClassifiesErrors(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	invalid := func(details *metav1.StatusDetails) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid, Code: 422, Details: details}}
	}
	causes := func(fields ...string) error {
		d := &metav1.StatusDetails{}
		for _, f := range fields {
			d.Causes = append(d.Causes, metav1.StatusCause{Field: f})
		}
		return invalid(d)
	}
	for why, row := range map[string]struct {
		err  error
		want bool
	}{
		"none":                         {nil, false},
		"a conflict":                   {apierrors.NewConflict(resource, "a", nil), true},
		"another UID":                  {causes("metadata.uid"), true},
		"another UID among the causes": {causes("spec", "metadata.uid"), true},
		"something else is invalid":    {causes("spec"), false},
		"nobody says what is invalid":  {invalid(nil), false},
		"the object is being deleted":  {apierrors.NewNotFound(resource, "a"), false},
		"a refusal that names the UID": {&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: "metadata.uid"}}}}}, false},
		"no answer":                    {errors.New("no answer"), false},
		"a webhook's conflict":         {refusal(http.StatusConflict, metav1.StatusReasonConflict, `admission webhook "no.example.org" denied the request: no`), false},
		"a webhook that names the UID": {refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, `admission webhook "no.example.org" denied the request: no`, metav1.StatusCause{Field: "metadata.uid"}), false},
		"another field manager":        {refusal(http.StatusConflict, metav1.StatusReasonConflict, "Apply failed", metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.x"}), false},
	} {
		t.Run(why, func(t *testing.T) {
			if got := controller.Stale(row.err); got != row.want {
				t.Errorf("stale = %v, want %v", got, row.want)
			}
		})
	}
}

// TestOrphanIsNotAdoptedByRecreatedParent recreates a parent with a child that was orphaned by the earlier parent.
func TestOrphanIsNotAdoptedByRecreatedParent(t *testing.T) {
	one := newApp(withChildren("a"))
	c := begun(t, withTemplate(t, apps, "deletionPolicy: Orphan"), one)
	c.Remove(locationOf(parse(t, one)))
	c.PutWithUID(one, "uid-next")
	wantRequests(t, "there is another parent", c.Run(), "create configmaps a", "get configmaps a", "status apps one")
	const want = "False ChildConflict: ConfigMap ns/a already exists and belongs to TemplateController apps for another parent, which may no longer exist: " +
		"its label templater.dev/parent-uid contains the UID: templater does not adopt it; delete it, or choose another name in the template"
	if got := c.Condition("apps", "one", "Ready"); got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	c.Clock.SetTime(c.Clock.Now().Add(time.Hour))
	c.start()
	c.Settle()
	if left := c.Objects[configMap("a")]; left == nil || left.GetLabels()[v1.LabelParentUID] != "uid-one" {
		t.Errorf("after a restart, and a long time, there is %v", left)
	}
	c.RemoveNow(configMap("a"))
	wantRequests(t, "somebody deletes it", c.SettleWrites(), "create configmaps a", "status apps one")
}
