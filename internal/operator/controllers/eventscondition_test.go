package controllers

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/operator/controllers/conditions"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

const (
	failed      = "Warning TemplateFailed: status:1:11: no"
	noCondition = "no condition EventsWritable"
	mayNotSay   = "False Forbidden: cannot write Events about parents: service account team/robot is not allowed to create and patch events.events.k8s.io in namespace ns: " +
		"add {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]} to a Role in namespace ns bound to it by a RoleBinding"
)

// eventsForbidden returns a cluster with a controller that fails for the parents one and two, and whose service account may not
// create Events.
func eventsForbidden(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t)
	c.forbidEvents(robot, "ns")
	c.KubectlApply(failingApps(t, asRobot(t)))
	c.KubectlApply(app)
	c.KubectlApply(newApp(withName("two"), withChildren("c")))
	c.Run()
	return c
}

func failingApps(t *testing.T, manifest string) string {
	t.Helper()
	return withSpec(t, reconciletest.WithStatus(t, manifest, "count: {{ fail \"no\" }}"), "resyncPeriod: 0s")
}

func (c *cluster) forbidEvents(user, namespace string) {
	c.Refuse["create events "+namespace] = denial(user, "create", "events", fmt.Sprintf("in the namespace %q", namespace))
	for _, verb := range []string{"create", "patch"} {
		c.Lacks[strings.Join([]string{strings.TrimPrefix(user, spec.AccountPrefix), verb, "events", namespace}, " ")] = true
	}
}

func (c *cluster) allowEvents(namespace string) {
	delete(c.Refuse, "create events "+namespace)
	clear(c.Lacks)
}

// wantEvents checks the number of attempted Events, all by the service account, the Events that were created, and the
// condition.
func (c *cluster) wantEvents(why string, tried int, said []string, condition string) {
	c.T.Helper()
	if len(c.EventsAs) != tried || slices.ContainsFunc(c.EventsAs, func(as string) bool { return as != robot }) {
		c.T.Errorf("%s: Events were tried as %q, want %d times as the account", why, c.EventsAs, tried)
	}
	got := slices.Sorted(slices.Values(c.Events))
	if diff := cmp.Diff(said, got); diff != "" && len(said)+len(got) > 0 {
		c.T.Errorf("%s: Events (-want +got):\n%s", why, diff)
	}
	if got := c.Condition("templatecontrollers", "apps", "EventsWritable"); got != condition {
		c.T.Errorf("%s: the condition is\n%s, want\n%s", why, got, condition)
	}
}

func TestForbiddenEventsAreSkippedUntilAllowed(t *testing.T) {
	c := eventsForbidden(t)
	both := []string{"one " + failed, "two " + failed}
	c.wantEvents("refused", 1, nil, mayNotSay)
	for range 3 {
		for _, name := range []string{"one", "two"} {
			c.Reconcile("apps", name)
		}
		c.Run()
	}
	c.wantEvents("looked at again and again", 1, nil, mayNotSay)
	for tried := 2; tried < 5; tried++ {
		c.Clock.SetTime(c.Clock.Now().Add(problem.SlowRetry))
		c.Run()
		c.wantEvents("a while later", tried, nil, mayNotSay)
	}
	c.allowEvents("ns")
	c.Run()
	c.wantEvents("granted a moment ago", 4, nil, mayNotSay)
	c.Clock.SetTime(c.Clock.Now().Add(problem.SlowRetry))
	c.Run()
	c.wantEvents("granted", 6, both, noCondition)
	c.Clock.SetTime(c.Clock.Now().Add(problem.SlowRetry))
	c.Run()
	c.wantEvents("said once", 6, both, noCondition)
}

func TestForbiddenEventsAreSharedPerServiceAccount(t *testing.T) {
	c := eventsForbidden(t)
	c.KubectlApply(failingApps(t, with(t, asRobot(t), "name: apps", "name: others", "{{ . }}", "others-{{ . }}", "namespaces: [ns]", "namespaces: [ns], labelSelector: {matchLabels: {tier: front}}")))
	c.Run()
	c.Clock.SetTime(c.Clock.Now().Add(countsDelay))
	c.Run()
	c.wantEvents("refused to the first", 1, nil, mayNotSay)
	if got := c.Condition("templatecontrollers", "others", "EventsWritable"); got != mayNotSay {
		t.Errorf("the other says %s", got)
	}
	c.allowEvents("ns")
	c.Clock.SetTime(c.Clock.Now().Add(problem.SlowRetry))
	c.Run()
	for _, name := range []string{"apps", "others"} {
		if got := c.Condition("templatecontrollers", name, "EventsWritable"); got != noCondition || len(c.Events) != 4 {
			t.Errorf("granted: %s says %s, Events %q", name, got, c.Events)
		}
	}
}

func TestEventsWritableIsRemovedWhenObsolete(t *testing.T) {
	well := func(t *testing.T) string { return withSpec(t, asRobot(t), "resyncPeriod: 0s") }
	for why, row := range map[string]struct {
		end  func(*cluster)
		want string
	}{
		"nothing has":        {func(*cluster) {}, mayNotSay},
		"all is well":        {func(c *cluster) { c.KubectlApply(well(t)) }, noCondition},
		"one of two is gone": {func(c *cluster) { c.RemoveNow(reconciletest.AppAt("one")) }, mayNotSay},
		"both are gone":      {func(c *cluster) { c.RemoveNow(reconciletest.AppAt("one")); c.RemoveNow(reconciletest.AppAt("two")) }, noCondition},
		"both match no longer": {func(c *cluster) {
			c.KubectlApply(failingApps(t, with(t, asRobot(t), "namespaces: [ns]", "namespaces: [ns], labelSelector: {matchLabels: {no: one}}")))
		}, noCondition},
		"another account may": {func(c *cluster) {
			delete(c.Refuse, "create events ns")
			c.KubectlApply(failingApps(t, with(t, asRobot(t), "robot", "other")))
		}, noCondition},
		"the spec is not accepted": {func(c *cluster) {
			c.KubectlApply(with(t, asRobot(t), "{{ end }}", "{{ end"))
			c.loseRevisions()
			c.Clock.SetTime(c.Clock.Now().Add(recountTime))
		}, noCondition},
	} {
		t.Run(why, func(t *testing.T) {
			c := eventsForbidden(t)
			row.end(c)
			for range 4 {
				c.Run()
				c.Deliver()
				c.Clock.SetTime(c.Clock.Now().Add(problem.SlowRetry))
			}
			if got := c.Condition("templatecontrollers", "apps", "EventsWritable"); got != row.want {
				t.Errorf("the condition is\n%s, want\n%s", got, row.want)
			}
		})
	}
}

func TestRestartKeepsEventsWritableUntilRecount(t *testing.T) {
	c := eventsForbidden(t)
	c.Deliver()
	c.allowEvents("ns")
	c.start()
	c.Run()
	c.wantEvents("just begun", 3, []string{"one " + failed, "two " + failed}, mayNotSay)
	c.Clock.SetTime(c.Clock.Now().Add(recountTime))
	c.Run()
	c.wantEvents("later", 3, []string{"one " + failed, "two " + failed}, noCondition)
}

func TestOnlyMissingPermissionSuppressesEvents(t *testing.T) {
	for why, err := range map[string]error{
		"an admission webhook":              refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.example.org" denied the request`),
		"a namespace that is being deleted": refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "unable to create new content in namespace ns because it is being terminated"),
		"no answer":                         refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, "no"),
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.Refuse["create events ns"] = err
			c.KubectlApply(failingApps(t, asRobot(t)))
			c.KubectlApply(app)
			c.KubectlApply(newApp(withName("two"), withChildren("c")))
			c.Run()
			c.wantEvents("refused", 2, nil, noCondition)
			c.Clock.SetTime(c.Clock.Now().Add(2 * problem.SlowRetry))
			c.Run()
			c.wantEvents("later", 2, nil, noCondition)
		})
	}
}

func TestEventsForbiddenToOperatorAreSkipped(t *testing.T) {
	c := newCluster(t)
	c.forbidEvents("", "ns")
	c.Lacks["create events ns"], c.Lacks["patch events ns"] = true, true
	c.KubectlApply(failingApps(t, apps))
	c.KubectlApply(app)
	c.Run()
	want := `False Forbidden: cannot write Events about parents: templater is not allowed to create and patch events.events.k8s.io in namespace ns: ` +
		`add {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]} to a ClusterRole labeled rbac.templater.dev/aggregate-to-templater: "true"`
	if got := c.Condition("templatecontrollers", "apps", "EventsWritable"); got != want || len(c.EventsAs) != 1 || c.EventsAs[0] != "" {
		t.Errorf("Events were tried as %q, and the condition is\n%s, want\n%s", c.EventsAs, got, want)
	}
}

func TestForbiddenEventOfReleasedParentExpires(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, withSpec(t, asRobot(t), "resyncPeriod: 0s"), "namespaces: [ns]", "namespaces: [ns], labelSelector: {matchLabels: {tier: front}}"))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.Run()
	c.forbidEvents(robot, "ns")
	c.KubectlApply(newApp(reconciletest.WithTier("back")))
	c.Run()
	c.wantEvents("left", 1, nil, mayNotSay)
	for range 3 {
		c.Deliver()
		c.Clock.SetTime(c.Clock.Now().Add(problem.SlowRetry))
		c.Run()
	}
	c.wantEvents("nobody has anything to say", 1, nil, noCondition)
}

// denying forbids all Events.
type denying struct{ user string }

func (d denying) Announce(what request.Announcement) {
	if what.Wanted() {
		what.Answered(denial(d.user, "create", "events", ""))
	}
}

func TestFirstForbiddenEventEnqueuesTemplateController(t *testing.T) {
	c := eventsForbidden(t)
	key := keyOf("others", "x")
	o := packed(t, c.Objects[reconciletest.AppAt("one")])
	for _, step := range []struct {
		why  string
		told bool
	}{{"the first", true}, {"the same again", false}} {
		c.ControllerQueue.Drop()
		c.controllers.events.Announce(robot, key, request.Announcement{About: o, Type: "Warning", Reason: "R", Message: "text"})
		if _, told := c.ControllerQueue.Due("others"); told != step.told {
			t.Errorf("%s: the TemplateController is looked at: %v, want %v", step.why, told, step.told)
		}
	}
	clear(c.Refuse)
	c.Clock.SetTime(c.Clock.Now().Add(problem.SlowRetry))
	said := len(c.Events)
	for range 2 {
		c.controllers.events.Announce(robot, key, request.Announcement{About: o, Type: "Warning", Reason: "R", Message: "text"})
	}
	if n := lengths(t, c.controllers.events, "refused", "dropped"); n != 0 || len(c.Events) != said+2 {
		t.Errorf("after one that arrived, %d refusals are left, and %d others arrive, want 1", n, len(c.Events)-said-1)
	}
}

func TestEventsWritableWaitsForAccessReview(t *testing.T) {
	c := newCluster(t)
	c.forbidEvents(robot, "ns")
	c.KubectlApply(failingApps(t, asRobot(t)))
	c.KubectlApply(app)
	for range 3 {
		c.RunControllers()
		for c.ParentQueue.Len() > 0 {
			key, _ := c.ParentQueue.Get()
			c.Reconciler.Reconcile(t.Context(), key)
			c.ParentQueue.Done(key)
		}
	}
	c.wantEvents("asked", 1, nil, noCondition)
	c.Run()
	c.wantEvents("answered", 1, nil, mayNotSay)
}

func TestMissingServiceAccountIsReportedOnceForEvents(t *testing.T) {
	c := newCluster(t)
	c.Lacks["serviceaccounts team robot"] = true
	for _, namespace := range []string{"ns", "other"} {
		c.forbidEvents(robot, namespace)
		c.KubectlApply(with(t, app, "namespace: ns", "namespace: "+namespace))
	}
	c.KubectlApply(failingApps(t, with(t, asRobot(t), "[ns]", "[ns, other]")))
	c.Run()
	const want = "False Forbidden: cannot write Events about parents: service account team/robot does not exist: create it with the permissions that the templates need, correct spec.serviceAccountRef, or, if its namespace was deleted, bind the permissions to its name with a ClusterRoleBinding"
	c.wantEvents("refused", 2, nil, want)
}

func TestEventPermissionsArePendingUntilAllNamespacesAreKnown(t *testing.T) {
	for _, unknown := range []string{"a", "b"} {
		t.Run(unknown, func(t *testing.T) {
			known := map[string]string{"a": "b", "b": "a"}[unknown]
			need := permissions.Requirement{As: robot, Use: permissions.Events, Resource: conditions.EventsResource, Namespaced: true, Namespace: known}
			c, found := deprived(t, robot, "create")
			c.Rights.Missing(denial(robot, "create", "events", ""), need)
			found()
			s := record.NewEventRecorder(record.EventOptions{Events: denying{robot}, Clock: clocktesting.NewFakePassiveClock(time.Now()), Controllers: workqueue.NewTypedDelayingQueue[string]()})
			for _, namespace := range []string{unknown, known} {
				s.Announce(robot, keyOf(c.Name, namespace), request.Announcement{About: packed(t, parse(t, with(t, app, "namespace: ns", "namespace: "+namespace)))})
			}
			if _, pending := conditions.Events(c, s); !pending {
				t.Errorf("nothing is known about namespace %s, and all counts as said", unknown)
			}
		})
	}
}

// Each Namespace has its own Events, so a Role would be needed for every new parent. Events about cluster-scoped
// parents are in namespace default.
func TestEventRuleForNamespaceParentsIsClusterWide(t *testing.T) {
	const rule = "add {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]} to a "
	events := permissions.Requirement{As: robot, Use: permissions.Events, Resource: conditions.EventsResource, Namespaced: true}
	for kind, row := range map[string]struct {
		namespace string
		unlimited bool
		want      string
	}{
		"Namespace":             {"", true, "in all namespaces: " + rule + "ClusterRole bound to it by a ClusterRoleBinding"},
		"ConfigMap":             {"ns", false, "in namespace ns: " + rule + "Role in namespace ns bound to it by a RoleBinding"},
		"Namespace.example.org": {"default", false, "in namespace default: " + rule + "Role in namespace default bound to it by a RoleBinding"},
		"Cluster.example.org":   {"default", false, "in namespace default: " + rule + "Role in namespace default bound to it by a RoleBinding"},
	} {
		t.Run(kind, func(t *testing.T) {
			need := events
			need.Namespace, need.Unlimited = row.namespace, row.unlimited
			c, found := deprived(t, robot, "create", "patch")
			c.Rights.Missing(denial(robot, "create", "events", ""), need)
			found()
			c.GVK = schema.ParseGroupKind(kind).WithVersion("v1")
			s := record.NewEventRecorder(record.EventOptions{Events: denying{robot}, Clock: clocktesting.NewFakePassiveClock(time.Now()), Controllers: workqueue.NewTypedDelayingQueue[string]()})
			for _, name := range []string{"a", "b"} {
				if row.namespace != "" {
					name = row.namespace
				}
				s.Announce(robot, keyOf(c.Name, name), request.Announcement{About: packed(t, parse(t, with(t, app, "namespace: ns", "namespace: "+name)))})
			}
			got, pending := conditions.Events(c, s)
			if want := "cannot write Events about parents: service account team/robot is not allowed to create and patch events.events.k8s.io " + row.want; pending || got == nil || got.Message != want {
				t.Errorf("pending is %v, and the condition is\n%+v, want\n%s", pending, got, want)
			}
		})
	}
}

func TestAccessReviewsRunAlongsideReconciliations(t *testing.T) {
	c := newCluster(t)
	c.controllers.Close()
	c.startWith(Options{})
	c.forbidEvents(robot, "ns")
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { c.Reconciler.Run(ctx, t.Context()); close(stopped) }()
	missing := c.controllers.rights.For("apps", robot, kind.Kind{Namespaced: true})
	need := permissions.Requirement{As: robot, Use: permissions.Events, Resource: conditions.EventsResource, Namespaced: true, Namespace: "ns"}
	eventually(t, "it is known what is missing", func() bool { return missing.Known(need) != "" })
	cancel()
	<-stopped
}

func TestEventsWritableIsRecheckedAfterRetryDelay(t *testing.T) {
	c := newCluster(t)
	tc := &v1.TemplateController{ObjectMeta: metav1.ObjectMeta{Name: "apps"}}
	tc.Status.Conditions = []metav1.Condition{{Type: v1.ConditionEventsWritable, Status: metav1.ConditionFalse}}
	for left, want := range map[time.Duration]int{time.Second: 1, 0: 0} {
		c.ControllerQueue.Drop()
		status := tc.Status.DeepCopy()
		c.controllers.setAccessConditions(tc, status, nil, left)
		if due, kept := c.ControllerQueue.Delayed(), len(status.Conditions); due != want || kept != want {
			t.Errorf("with %v left it is looked at %d times, and there are %d conditions, want %d", left, due, kept, want)
		}
	}
}
