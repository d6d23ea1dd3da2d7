package reconcile_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/templater-dev/templater/internal/reconcile/preflight"
)

var (
	errImmutable = refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "invalid",
		metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "data.text", Message: `Invalid value: "` + secret + `": field is immutable`})
	errImmutableAndInvalid = refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "invalid",
		metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "data.text", Message: `Invalid value: "x": field is immutable`},
		metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "data.more", Message: `Invalid value: "field is immutable": must be short`})
)

const recreateImmutable = "updateStrategy: {onImmutable: Recreate}"

func TestOnImmutableRecreatesOneObject(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withTemplate(t, apps, recreateImmutable))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.Refuse["update configmaps a"] = errImmutable
	c.KubectlApply(newApp(withText("bye")))
	wantRequests(t, "update", c.Run(), "update configmaps a", "update configmaps b", "delete-foreground configmaps a", "status apps one")
	c.WantReady("False Progressing: 1 of 2 children are ready: ConfigMap ns/a: being deleted")
	if got := c.data("b").(map[string]any)["text"]; got != "bye" {
		t.Errorf("the other object has text %v, want bye", got)
	}
	delete(c.Refuse, "update configmaps a")
	wantRequests(t, "it is being deleted", c.Run())
	c.RemoveNow(configMap("a"))
	wantRequests(t, "it is gone", c.Run(), "create configmaps a", "status apps one")
	c.Deliver()
	wantRequests(t, "again", c.Run())
}

// TestOnImmutableKeepsObjects has refusals after which nothing is deleted.
func TestOnImmutableKeepsObjects(t *testing.T) {
	const kept = "False ChildRejected: cannot update ConfigMap ns/a: "
	for why, row := range map[string]struct {
		strategy string // "" = recreateImmutable
		err      error
		change   func(*cluster) // nil = the template renders another value
		want     string
	}{
		"Fail is the default": {
			strategy: "updateStrategy: {type: Apply}", err: errImmutable,
			want: kept + "data.text: field is immutable; to replace the object, set updateStrategy.onImmutable to Recreate",
		},
		"another field is invalid": {
			err:  errImmutableAndInvalid,
			want: kept + "data.text: field is immutable; to replace the object, set updateStrategy.onImmutable to Recreate; data.more: invalid value",
		},
		"the value is invalid": {err: errInvalid, want: kept + "data.text: invalid value"},
		"a webhook says so": {
			err: refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, `admission webhook "no.example.org" denied the request: field is immutable`,
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "data.text", Message: "field is immutable"}),
			want: kept + `denied by admission webhook "no.example.org"`,
		},
		"another client changed the field": {
			err:    errImmutable,
			change: func(c *cluster) { c.KubectlEdit(configMap("a"), setText("edited")) },
			want:   kept + "data.text: field is immutable; to replace the object, set updateStrategy.onImmutable to Recreate",
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.restless = true
			strategy := recreateImmutable
			if row.strategy != "" {
				strategy = row.strategy
			}
			c.KubectlApply(withTemplate(t, apps, strategy))
			c.KubectlApply(newApp(withChildren("a")))
			c.Run()
			c.Deliver()
			c.Refuse["update configmaps a"] = row.err
			if row.change != nil {
				row.change(c)
			} else {
				c.KubectlApply(with(t, newApp(withChildren("a")), "hello", "bye"))
			}
			wantRequests(t, why, c.Run(), "update configmaps a", "status apps one")
			c.WantReady(row.want)
		})
	}
}

func TestOnImmutableRecreatesUnlabeledObject(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withTemplate(t, apps, recreateImmutable))
	c.KubectlApply(newApp(withChildren("a")))
	c.Run()
	c.RemoveLabels("a")
	c.Refuse["update configmaps a"] = errImmutable
	c.KubectlApply(with(t, newApp(withChildren("a")), "hello", "bye"))
	wantRequests(t, "update", c.Run(), "create configmaps a", "get configmaps a", "update configmaps a", "delete-foreground configmaps a", "status apps one")
	delete(c.Refuse, "update configmaps a")
	delete(c.Objects, configMap("a"))
	_, requests := c.Reconcile("apps", "one")
	wantRequests(t, "it is gone", requests, "create configmaps a", "status apps one")
}

// TestOnImmutableWaitsForRollingUpdate replaces one object at a time.
func TestOnImmutableWaitsForRollingUpdate(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withTemplate(t, apps, "updateStrategy: {onImmutable: Recreate, rollingUpdate: {}}"))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.Refuse["update configmaps a"], c.Refuse["update configmaps b"] = errImmutable, errImmutable
	c.KubectlApply(newApp(withText("bye")))
	wantRequests(t, "update", c.Run(), "update configmaps a", "delete-foreground configmaps a", "status apps one")
	wantRequests(t, "the first one is being deleted", c.Run())
	c.RemoveNow(configMap("a"))
	c.Run()
	if o := c.Find("configmaps", "a"); o == nil || o.Object["data"].(map[string]any)["text"] != "bye" {
		t.Errorf("the first object is %v, want a new one", o)
	}
}

// TestPreflightDoesNotCheckRecreation has an update that a dry run refuses, after which the object would be recreated.
func TestPreflightDoesNotCheckRecreation(t *testing.T) {
	for strategy, want := range map[string]preflight.Verdict{
		recreateImmutable: {NotChecked: []string{"create ConfigMap ns/a for App ns/one: the object is deleted first"}},
		"updateStrategy: {type: Apply}": {Refused: []string{
			"update ConfigMap ns/a for App ns/one: data.text: field is immutable; to replace the object, set updateStrategy.onImmutable to Recreate",
		}},
	} {
		c := newCluster(t)
		c.KubectlApply(apps)
		c.KubectlApply(newApp(withChildren("a")))
		c.Run()
		c.Refuse["dry-run update configmaps a"] = errImmutable
		got := c.preflight(c.revision(withTemplate(t, moreData(t), strategy)), "one")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: verdict (-want +got):\n%s", strategy, diff)
		}
		if o := c.Find("configmaps", "a"); o == nil || o.GetDeletionTimestamp() != nil {
			t.Error("a dry run deleted the object")
		}
	}
}
