package reconcile_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// controllerOf returns a controller with one child template.
func controllerOf(t *testing.T, template string) *controller.Controller {
	t.Helper()
	compiled, r := spec.Compile("c", &v1.TemplateControllerSpec{
		Watch:    v1.Watch{APIVersion: "v1", Kind: "ConfigMap"},
		Children: []v1.Child{{Name: "a", Template: template}},
	})
	if r != nil {
		t.Fatal(r.Message)
	}
	return &controller.Controller{Definition: controller.Definition{Name: "c", Program: compiled.Program}, Factory: &child.Factory{Program: compiled.Program}}
}

// TestRewriteAdviceOmitsKeysFromData repeatedly writes the same status, with a changing key from data.
func TestRewriteAdviceOmitsKeysFromData(t *testing.T) {
	c := controllerOf(t, "count: {{ .spec.map }}")
	f := queue.NewRewrites()
	f.Status(nil, map[string]any{"count": map[string]any{secret: int64(1)}}, c.Author().Path)
	f.Status(nil, map[string]any{"count": map[string]any{}}, c.Author().Path)
	if got, want := f.Advice(), "the templates render different output in every reconciliation for .status.count.…: "; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %s", got, want)
	}
}

// TestStatusRejectionOmitsKeysFromData tests the message of the API server. Content is only identified by its hash.
func TestStatusRejectionOmitsKeysFromData(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.StatusOnly("xs", "color: { {{ .metadata.uid }}: red }"))
	c.KubectlApply(app)
	c.Refuse["status apps one"] = refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "",
		metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: "status.color.uid-one"})
	c.Run()
	if diff := cmp.Diff([]string{"one Warning StatusRejected: cannot write the status: status.color.…: required value is missing"}, c.Events); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
}

func TestKeyFaultReportsPathOfTooLongKey(t *testing.T) {
	c := controllerOf(t, "spec: {known: {{ .spec.map }}}")
	long := strings.Repeat("k", 2000)
	for want, content := range map[string]map[string]any{
		"the document has a key":  {long: 1},
		"spec.known.… has a key ": {"spec": map[string]any{"known": map[string]any{secret: map[string]any{long: 1}}}},
	} {
		if got := c.Factory.KeyFault(content); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %s", got, want)
		}
	}
}

func TestUnusualStringsAreWrittenUnchanged(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, apps, "count:", "text: {{ .spec.text }}\n      count:"))
	o := parse(t, app)
	o.Object["spec"].(map[string]any)["text"] = reconciletest.OddText
	o.SetUID("uid-one")
	c.Store(locationOf(o), o)
	c.Deliver()
	c.Run()
	for what, in := range map[string]map[string]any{
		"the child":           c.Find("configmaps", "a").Object["data"].(map[string]any),
		"the parent's status": c.Find("apps", "one").Object["status"].(map[string]any),
	} {
		t.Run(what, func(t *testing.T) {
			if in["text"] != reconciletest.OddText {
				t.Errorf("%s has %q, want %q", what, in["text"], reconciletest.OddText)
			}
		})
	}
	c.Deliver()
	_, again := c.Reconcile("apps", "one")
	wantRequests(t, "the reconciliation after", again)
}

func TestTooLongKeyIsReportedByPath(t *testing.T) {
	for why, row := range map[string]struct{ from, to, want string }{
		"in a child": {
			"data: {text: {{ $.spec.text }}}", "spec: {list: [{map: {{ dict (repeat 1100 \"k\") \"x\" | toJson }}}]}",
			"False InvalidChild: children[maps]:3: spec.list[0].map has a key of more than 1022 characters in JSON, which the API server cannot decode: shorten it",
		},
		"in the status": {
			"count: {{ len .children.maps }}", "map: {{ dict (repeat 1100 \"k\") \"x\" | toJson }}",
			"False TemplateError: status: status.map has a key of more than 1022 characters in JSON, which the API server cannot decode: shorten it",
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(with(t, apps, row.from, row.to))
			c.KubectlApply(app)
			c.Run()
			if got := c.Condition("apps", "one", "Ready"); got != row.want {
				t.Errorf("condition %q, want %q", got, row.want)
			}
		})
	}
}

// hostileWords are possible values of fields that should contain a name. No part of them may be reported.
var hostileWords = []string{
	"EVIL\nReady: all is well", "EVIL\r\n", "EVIL; to repair it run curl https://EVIL.example/fix as admin", "EVIL\u2028x", "\u202eLIVE EVIL", "EVIL\x1b[2J\x00",
	"EVIL\ufeff\u200b", strings.Repeat("EVIL", 50_000), "<b>EVIL</b>", "[EVIL](https://x)", `EVIL" or "`, " EVIL", "ÉVIL EVIL", "EVIL\U000e0041",
}

// conflictOf creates an object that conflicts with a child and has an owner with these values. It returns the parent's condition.
func conflictOf(t *testing.T, apiVersion, kind, name string) string {
	t.Helper()
	c := newCluster(t)
	o := parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: a}}")
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: "u", Controller: new(true)}})
	c.Store(locationOf(o), o)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	if n, _, _ := unstructured.NestedInt64(c.Find("apps", "one").Object, "status", "count"); n != 1 {
		t.Errorf("the status counts %d children, want 1", n)
	}
	for _, event := range c.Events {
		if strings.Contains(event, "EVIL") || len(event) > 2000 {
			t.Errorf("Event of %d bytes: %.300q", len(event), event)
		}
	}
	if len(c.Events) != 1 {
		t.Errorf("%d Events, want 1", len(c.Events))
	}
	return c.Condition("apps", "one", v1.ConditionReady)
}

func TestForeignOwnerNamesAreSanitized(t *testing.T) {
	const message = "False ChildConflict: ConfigMap ns/a already exists and belongs to %s: templater does not adopt it; delete it, or choose another name in the template"
	for _, words := range hostileWords {
		for what, row := range map[string]struct{ apiVersion, kind, name, want string }{
			"a kind":                {"v1", words, "web", "… web"},
			"a name":                {"v1", "Pod", words, "Pod …"},
			"both":                  {"v1", words, words, "… …"},
			"the version of a kind": {words, "App", "web", "App web of …"},
		} {
			t.Run(what, func(t *testing.T) {
				if got, want := conflictOf(t, row.apiVersion, row.kind, row.name), fmt.Sprintf(message, row.want); got != want {
					t.Errorf("%.80q is told: %.500q, want %q", words, got, want)
				}
			})
		}
	}
	if got, want := conflictOf(t, "apps/v1", "Deployment", "web.1"), fmt.Sprintf(message, "Deployment web.1"); got != want {
		t.Errorf("names as they should be: %q, want %q", got, want)
	}
}

// TestNamesFromDataAreNotReported has arbitrary text as names of children.
func TestNamesFromDataAreNotReported(t *testing.T) {
	for _, words := range hostileWords {
		if strings.ContainsAny(words, "/%") {
			continue // an invalid name, which is not reported either
		}
		c := newCluster(t)
		c.KubectlApply(apps)
		o := parse(t, app)
		if err := unstructured.SetNestedStringSlice(o.Object, []string{words}, "spec", "names"); err != nil {
			t.Fatal(err)
		}
		c.Refuse["create configmaps "+words] = refusal(http.StatusInternalServerError, metav1.StatusReason(words), words, metav1.StatusCause{Type: metav1.CauseType(words), Field: words, Message: words})
		o.SetUID("uid-one")
		c.Store(locationOf(o), o)
		c.Deliver()
		c.Run()
		if got := c.Condition("apps", "one", v1.ConditionReady); strings.Contains(got, "EVIL") || len(got) > 500 || !strings.HasPrefix(got, "False ") {
			t.Errorf("%.80q is told: %.500q", words, got)
		}
	}
}

// TestFailMessagesAreSanitized has fail messages that contain a value.
func TestFailMessagesAreSanitized(t *testing.T) {
	for _, words := range hostileWords {
		c := newCluster(t)
		c.KubectlApply(withStatus(t, apps, "a: {{ fail .spec.text }}"))
		o := parse(t, app)
		if err := unstructured.SetNestedField(o.Object, words, "spec", "text"); err != nil {
			t.Fatal(err)
		}
		o.SetUID("uid-one")
		c.Store(locationOf(o), o)
		c.Deliver()
		c.Run() // the cluster checks each message
		if got := c.Condition("apps", "one", v1.ConditionReady); !strings.HasPrefix(got, "False TemplateFailed: status:") || len(got) > 5000 {
			t.Errorf("%.80q is told: %.500q", words, got)
		}
	}
}

// TestConditionMessageIsShortenedToFit has API servers that accept only short or no messages.
func TestConditionMessageIsShortenedToFit(t *testing.T) {
	long := strings.Repeat("long ", 150)
	failing := with(t, apps, "      {{ range .spec.names }}", `      {{ fail "`+long+`" }}{{ range .spec.names }}`)
	for why, row := range map[string]struct {
		most     int // maximum length of a message
		message  string
		requests []string
	}{
		"all of it":       {5000, "children[maps]:1:4: " + strings.TrimSpace(long), []string{"status apps one"}},
		"a part":          {256, object.Line("children[maps]:1:4: "+long, problem.ShortMessage), []string{"status apps one", "status apps one"}},
		"next to nothing": {10, "", []string{"status apps one", "status apps one", "status apps one", "status apps one", "status apps one"}},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.Longest = map[string]int{"apps": row.most}
			c.KubectlApply(failing)
			c.KubectlApply(app)
			got := c.Run()
			if !slices.Equal(got, row.requests) {
				t.Errorf("requests %q, want %q", got, row.requests)
			}
			condition := c.Condition("apps", "one", v1.ConditionReady)
			if _, message, _ := strings.Cut(condition, ": "); message != row.message || !strings.HasPrefix(condition, "False ") {
				t.Errorf("condition %q, want the message %q", condition, row.message)
			}
			if n, has, _ := unstructured.NestedInt64(c.Find("apps", "one").Object, "status", "count"); has != (row.most > 10) || n != 0 {
				t.Errorf("the status counts children: %v", has)
			}
			if len(c.Events) == 0 {
				t.Errorf("no Event")
			}
		})
	}
}
