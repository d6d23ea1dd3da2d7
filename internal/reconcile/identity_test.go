package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// robot is the account of asRobot.
const robot = spec.AccountPrefix + "team:robot"

// asRobot is apps with an account, in one namespace.
func asRobot(t *testing.T) string {
	t.Helper()
	return with(t, apps, "kind: App}", "kind: App, namespaces: [ns]}\n  serviceAccountRef: {namespace: team, name: robot}")
}

// denial is what the server answers to a user without a right.
func denial(user, verb, resource, where string) error {
	return answer(http.StatusForbidden, metav1.StatusReasonForbidden,
		fmt.Sprintf(`%s "x" is forbidden: User %q cannot %s resource %q in API group "" %s`, resource, user, verb, resource, where))
}

func TestEverythingIsReadAndWrittenAsTheAccount(t *testing.T) {
	c := newCluster(t)
	c.apply(asRobot(t))
	c.apply(app)
	wantRequests(t, "first pass", c.run(), "team:robot: create configmaps a", "team:robot: create configmaps b", "team:robot: status apps one")
	for _, want := range c.owners["apps"] {
		if want.As != robot || want.Namespace != "ns" {
			t.Errorf("%s is watched, want it as the account and in its namespace", want)
		}
	}
	if got := len(c.owners["apps"]); got != 2 {
		t.Errorf("%d watches, want those of parents and children", got)
	}
	c.deliver()
	wantRequests(t, "after the watch brought the writes", c.run())
	c.apply(with(t, app, "[a, b]", "[a]"))
	wantRequests(t, "a child that is wanted no longer", c.run(), "team:robot: delete configmaps b", "team:robot: status apps one")
}

func TestNamespacesAreReadAsTheAccount(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, apps, "kind: App}", "kind: App, namespaceSelector: {matchLabels: {team: red}}}\n  serviceAccountRef: {namespace: team, name: robot}"))
	c.apply("{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {team: red}}}")
	c.apply(app)
	if got := c.run(); len(got) != 3 {
		t.Errorf("requests %v, want those of a first pass", got)
	}
	for _, want := range c.owners["apps"] {
		if want.As != robot || want.Namespace != "" {
			t.Errorf("%s is watched, want it as the account and in all namespaces", want)
		}
	}
	c.deliver()
	c.run()
	c.apply("{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {team: blue}}}")
	wantRequests(t, "the namespace is not selected", c.run(), "team:robot: get apps one", "team:robot: list namespaces ns", "team:robot: delete configmaps a", "team:robot: delete configmaps b")
}

// failing returns a cache that could not be filled.
func failing(t *testing.T, want watch.Want, err error) *watch.Cache {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	m := watch.NewManager(ctx, func(string) watch.Client { return refusing{err} }, nobody{})
	t.Cleanup(func() { cancel(); m.Wait() })
	caches, setErr := m.Set("test", []watch.Want{want})
	if setErr != nil {
		t.Fatal(setErr)
	}
	if err := wait.PollUntilContextTimeout(ctx, time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		return caches[want].Err() != nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	return caches[want]
}

// refusing answers each list and watch with an error.
type refusing struct{ err error }

func (r refusing) List(context.Context, schema.GroupVersionResource, string, metav1.ListOptions) (runtime.Object, error) {
	return nil, r.err
}

func (r refusing) Watch(context.Context, schema.GroupVersionResource, string, metav1.ListOptions) (apiwatch.Interface, error) {
	return nil, r.err
}

func (refusing) MayWatch(context.Context, schema.GroupVersionResource, string, string) (bool, error) {
	return true, nil
}

type nobody struct{}

func (nobody) Changed(watch.Want, watch.Event) {}

func (nobody) StateChanged(watch.Want) {}

func TestConditionOfTheParentNamesTheRightsThatAreMissingToWrite(t *testing.T) {
	c := newCluster(t)
	c.apply(asRobot(t))
	for _, name := range []string{"a", "b"} {
		c.refuse["team:robot: create configmaps "+name] = denial(robot, "patch", "configmaps", `in the namespace "ns"`)
	}
	c.lacks["team:robot patch configmaps ns"], c.lacks["team:robot create configmaps ns"] = true, true
	c.apply(app)
	c.run()
	if len(c.asked) != 6 {
		t.Errorf("the server was asked %d times for the rights of two writes, want once for each verb: %v", len(c.asked), c.asked)
	}
	c.deliver()
	c.pass("apps", "one") // as its retry does
	const want = `False ChildForbidden: cannot create ConfigMap ns/a and ns/b: service account team/robot is not allowed to create and patch configmaps in namespace ns: add {apiGroups: [""], resources: [configmaps], verbs: [create, patch]} to a Role in namespace ns bound to it by a RoleBinding`
	if got := c.condition("apps", "one", "Ready"); got != want {
		t.Errorf("condition\n%s\nwant\n%s", got, want)
	}
	clear(c.refuse)
	c.deliver()
	result, got := c.pass("apps", "one")
	wantRequests(t, "granted", got, "team:robot: create configmaps a", "team:robot: create configmaps b", "team:robot: status apps one")
	if result.Retry != problem.RetryOnChange {
		t.Errorf("retry %v", result.Retry)
	}
}

func TestChildrenThatMayNotBeReadAreLeftAlone(t *testing.T) {
	c := newCluster(t)
	c.apply(asRobot(t))
	c.apply(app)
	c.run()
	c.start()
	want := watch.Want{Resource: configMap("").Resource, Labels: v1.LabelController, Role: watch.Child, As: robot, Namespace: "ns"}
	c.caches[want] = failing(t, want, denial(robot, "list", "configmaps", `in the namespace "ns"`))
	c.silent[want] = true
	c.apply(with(t, app, "[a, b]", "[a]"))
	wantRequests(t, "children that may not be read", c.run(), "team:robot: status apps one")
	if got, want := c.condition("apps", "one", "Ready"), "False Forbidden: service account team/robot cannot read configmaps in namespace ns: see the condition Watching of TemplateController apps; until then, nothing is deleted"; got != want {
		t.Errorf("condition\n%s\nwant\n%s", got, want)
	}
}

func TestMissingRightIsToldOnceItIsKnown(t *testing.T) {
	for why, row := range map[string]struct {
		refuse string
		want   string
	}{
		"the server tells":         {"", `is not allowed to create and patch configmaps in namespace ns: add {apiGroups: [""], resources: [configmaps], verbs: [create, patch]} to`},
		"the server does not tell": {"ask team:robot create configmaps ns", `is not allowed to patch configmaps in namespace ns: add {apiGroups: [""], resources: [configmaps], verbs: [create, delete, get, list, patch, watch]} to`},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(asRobot(t))
			c.apply(app)
			c.run()
			c.deliver()
			c.run()
			c.apply(with(t, app, "[a, b]", "[a, b, c]"))
			c.refuse["team:robot: create configmaps c"] = denial(robot, "patch", "configmaps", `in the namespace "ns"`)
			c.refuse[row.refuse] = errors.New("no answer")
			c.lacks["team:robot patch configmaps ns"], c.lacks["team:robot create configmaps ns"] = true, true
			result, got := c.pass("apps", "one")
			wantRequests(t, "while the server is asked", got, "team:robot: create configmaps c")
			if result.Retry != problem.RetrySoon || len(c.events) > 0 {
				t.Errorf("retry %v and Events %v, want a retry soon and no Event yet", result.Retry, c.events)
			}
			for c.shared.rights.Len() > 0 {
				c.shared.rights.Next(t.Context())
			}
			c.pass("apps", "one")
			c.deliver()
			c.pass("apps", "one")
			if len(c.events) != 1 || !strings.Contains(c.events[0], row.want) || !strings.Contains(c.condition("apps", "one", "Ready"), row.want) {
				t.Errorf("Events %v and condition %s, want one with %s", c.events, c.condition("apps", "one", "Ready"), row.want)
			}
		})
	}
}
