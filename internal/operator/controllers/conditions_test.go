package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// statusless is a Client that fails to write statuses.
type statusless struct {
	controller.Client
	err error
}

func (w statusless) ApplyStatus(context.Context, request.Location, []byte, string, bool) (*object.Object, error) {
	return nil, w.err
}

// noChildren neither creates nor adopts children.
var noChildren = &child.Factory{Ownership: &child.Ownership{}}

func TestFailedStatusWriteIsRetried(t *testing.T) {
	c := newCluster(t)
	refused := errors.New("refused")
	c.through(func(client controller.Client) controller.Client { return statusless{client, refused} })
	c.KubectlApply(apps)
	if err := c.controllers.Sync(t.Context(), "apps"); !errors.Is(err, refused) {
		t.Errorf("err = %v, want that of the write", err)
	}
	if c.controllers.get("apps") != nil {
		t.Error("it runs, though the kinds of its children are not on record")
	}
}

func TestChildKindsAreSorted(t *testing.T) {
	e := newTracked("u")
	var want []string
	for _, group := range []string{"", "a.example.org", "b.example.org"} {
		for i := range 9 {
			kind := fmt.Sprint("Kind", i)
			e.childKinds[schema.GroupKind{Group: group, Kind: kind}] = "v1"
			want = append(want, group+" "+kind)
		}
	}
	c := newCluster(t).controllers
	tc := &v1.TemplateController{}
	rejected := assembly{rejection: spec.Rejectf("No", "no")}
	var got []string
	for _, kind := range c.statusOf(tc, e, rejected, &controller.Controller{Definition: controller.Definition{Spec: &tc.Spec}, Factory: noChildren}).ChildKinds {
		got = append(got, kind.Group+" "+kind.Kind)
	}
	if !slices.Equal(got, want) {
		t.Errorf("kinds %q, want %q", got, want)
	}
}

func TestRejectedSpecKeepsParentAndChildCounts(t *testing.T) {
	c := newCluster(t).controllers
	tc := &v1.TemplateController{Status: v1.TemplateControllerStatus{Parents: v1.ParentCounts{Total: 3, Ready: 2}, Children: v1.ChildCounts{Total: 5}}}
	e := newTracked("u")
	e.counts.Begin(1)
	e.counts.Set(configMapName("one"), &status.ParentSummary{Generation: 1, Ready: true, Children: 2})
	for why, row := range map[string]struct {
		a        assembly
		parents  v1.ParentCounts
		children int64
	}{
		"it is accepted": {assembly{}, v1.ParentCounts{Total: 1, Ready: 1, Updated: 1}, 2},
		"it is rejected": {assembly{rejection: spec.Rejectf("No", "no")}, v1.ParentCounts{Total: 3, Failed: 3}, 5},
	} {
		got := c.statusOf(tc, e, row.a, &controller.Controller{Definition: controller.Definition{Spec: &tc.Spec}, Factory: noChildren})
		if got.Parents != row.parents || got.Children.Total != row.children {
			t.Errorf("%s: parents %+v and %d children, want %+v and %d", why, got.Parents, got.Children.Total, row.parents, row.children)
		}
	}
}

func TestOwnershipReasonSurvivesRestart(t *testing.T) {
	for why, row := range map[string]struct {
		reason     string
		generation int64
		took       time.Duration // time since the start
		want       string
	}{
		"a condition is another's":              {v1.ReasonConditionOwned, 2, 0, v1.ReasonConditionOwned},
		"a field is":                            {v1.ReasonFieldOwned, 2, 0, v1.ReasonFieldOwned},
		"a right was missing":                   {v1.ReasonForbidden, 2, 0, v1.ReasonBuiltInKind},
		"it was another spec":                   {v1.ReasonFieldOwned, 1, 0, v1.ReasonBuiltInKind},
		"nothing was said":                      {"", 0, 0, v1.ReasonBuiltInKind},
		"all parents have had time to be asked": {v1.ReasonFieldOwned, 2, recountTime, v1.ReasonBuiltInKind},
	} {
		t.Run(why, func(t *testing.T) {
			c, e := newCluster(t), newTracked("u")
			e.since = c.Clock.Now()
			tc := &v1.TemplateController{Status: v1.TemplateControllerStatus{Parents: v1.ParentCounts{Total: 3}}}
			tc.Generation = 2
			if row.reason != "" {
				tc.Status.Conditions = []metav1.Condition{{Type: v1.ConditionStatusWritable, Status: metav1.ConditionFalse, Reason: row.reason, ObservedGeneration: row.generation}}
			}
			c.Clock.SetTime(c.Clock.Now().Add(row.took))
			got := map[string]metav1.Condition{}
			for _, condition := range c.controllers.statusOf(tc, e, assembly{}, &controller.Controller{Definition: controller.Definition{Spec: &tc.Spec, ReadyCondition: "Ready"}, Factory: noChildren}).Conditions {
				got[condition.Type] = condition
			}
			if reason := got[v1.ConditionStatusWritable].Reason; reason != row.want {
				t.Errorf("the reason is %s, want %s", reason, row.want)
			}
			if ready := got[v1.ConditionReady]; ready.Reason != v1.ReasonReady || !ready.LastTransitionTime.Time.Equal(c.Clock.Now()) {
				t.Errorf("ready condition %+v", ready)
			}
		})
	}
}

// lacking is a permissions.Reviewer of a user who lacks these verbs.
type lacking []string

func (l lacking) Allowed(_ context.Context, right request.Permission) (bool, error) {
	return !slices.Contains(l, right.Verb), nil
}

func (lacking) Get(context.Context, request.Location) (*object.Object, error) { return nil, nil }

// deprived returns a controller for an existing user who lacks these verbs. found processes the queued access reviews.
func deprived(t *testing.T, user string, verbs ...string) (c *controller.Controller, found func()) {
	t.Helper()
	as := func(string) permissions.Reviewer { return lacking(verbs) }
	r := permissions.NewTracker(as, clocktesting.NewFakePassiveClock(time.Now()), nil, func(string) {})
	found = func() {
		for r.Len() > 0 {
			r.Next(t.Context())
		}
	}
	return &controller.Controller{Access: controller.Access{As: user, Rights: r.For("", user, kind.Kind{})}}, found
}

func TestMessageListsAtMostThreeMissingPermissions(t *testing.T) {
	c, found := deprived(t, "", "list")
	c.Parents = map[string]*watch.Cache{}
	for _, ns := range []string{"a", "b", "c", "d"} {
		c.Parents[ns] = cacheOf(t)
		c.Parents[ns].Fail(denial("x", "list", "apps", "in the namespace"))
	}
	c.Obstacle()
	found()
	reason, message := c.Obstacle()
	if n := strings.Count(message, "is not allowed to list"); reason != v1.ReasonForbidden || n != 3 {
		t.Errorf("%s names %d rights: %s", reason, n, message)
	}
}

func TestMissingParentPermissionsIncludeStatus(t *testing.T) {
	for why, row := range map[string]struct {
		use    permissions.Use
		status *kind.StatusSchema
		want   int
	}{
		"parents with a status":    {permissions.Parents, &kind.StatusSchema{}, 1},
		"parents without a status": {permissions.Parents, nil, 0},
		"children":                 {permissions.Children, &kind.StatusSchema{}, 0},
	} {
		t.Run(why, func(t *testing.T) {
			c, found := deprived(t, "", "patch")
			c.Kind.Status, c.ReadyCondition, c.Spec = row.status, v1.ConditionReady, &v1.TemplateControllerSpec{}
			c.AlsoMissing(permissions.Requirement{Use: row.use})
			found()
			if got := c.AlsoMissing(permissions.Requirement{Use: row.use}); len(got) != row.want {
				t.Errorf("%q, want %d", got, row.want)
			}
		})
	}
}

func TestSyncingChildCachesAreReported(t *testing.T) {
	c := &controller.Controller{Caches: controller.Caches{Parents: map[string]*watch.Cache{"": cacheOf(t)}}}
	c.Parents[""].Fail(errors.New("no answer"))
	if reason, message := c.ChildObstacle(); reason != v1.ReasonSyncing || message != "the caches are syncing" {
		t.Errorf("%s: %s", reason, message)
	}
}

func TestWatchingConditionNamesSyncingResource(t *testing.T) {
	c := newCluster(t)
	c.Silent[watch.Want{Resource: reconciletest.Kinds[schema.GroupKind{Group: "example.org", Kind: "App"}].Resource, Role: watch.Parent}] = true
	c.KubectlApply(apps)
	c.Run()
	if got, want := c.Condition("templatecontrollers", "apps", "Watching"), "False Syncing: reading apps.example.org"; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
}

func TestWatchingIsSyncingUntilMissingPermissionsAreKnown(t *testing.T) {
	c := newCluster(t)
	want := watch.Want{Resource: reconciletest.Kinds[schema.GroupKind{Group: "example.org", Kind: "App"}].Resource, Role: watch.Parent, As: robot, Namespace: "ns"}
	c.Caches[want] = reconciletest.FailedCache(t, want, denial(robot, "list", "apps", `in the namespace "ns"`))
	c.Silent[want] = true
	c.KubectlApply(asRobot(t))
	c.RunControllers()
	if got, want := c.Condition("templatecontrollers", "apps", "Watching"), "False Syncing: reading apps.example.org in namespace ns"; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
}

func TestFailedNamespaceListIsReported(t *testing.T) {
	c := newCluster(t)
	want := watch.Want{Resource: controller.Namespaces, Role: watch.Namespace}
	c.Caches[want] = reconciletest.FailedCache(t, want, errors.New("no answer"))
	c.Silent[want] = true
	c.KubectlApply(withWatch(t, apps, "namespaceSelector: {matchLabels: {team: red}}"))
	c.Run()
	if got, want := c.Condition("templatecontrollers", "apps", "Watching"), "False ListFailed: cannot list or watch namespaces"; !strings.HasPrefix(got, want) {
		t.Errorf("condition %q, want %q", got, want)
	}
}

func TestOversizedStatusIsShortened(t *testing.T) {
	c := newCluster(t)
	c.Longest = map[string]int{"templatecontrollers": problem.ShortMessage}
	c.KubectlApply(with(t, apps, "kind: App}", "kind: "+strings.Repeat("Unknown", 50)+"}"))
	c.Run()
	got := c.Condition("templatecontrollers", "apps", "Watching")
	if !strings.HasPrefix(got, "False ") || !strings.HasSuffix(got, "…") {
		t.Errorf("condition %q, want a message that is cut", got)
	}
}
