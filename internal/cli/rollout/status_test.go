package rollout

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"

	v1 "github.com/templater-dev/templater/api/v1"
)

const (
	rolledOut = "templatecontroller \"apps\" successfully rolled out\n"
	waiting   = `Waiting for templatecontroller "apps" rollout to finish: `
)

func TestStatus(t *testing.T) {
	condition := func(status, reason, message string) []string {
		return []string{"currentRevision: NEWEST", "currentRevision: 0123456789abcdef", "conditions:", "conditions:\n" + progressing(status, reason, message)}
	}
	for why, row := range map[string]struct {
		pairs []string
		want  string
	}{
		"all parents have the revision":      {nil, rolledOut},
		"a rollout is complete":              {[]string{"conditions:", "conditions:\n" + progressing("True", "RolloutComplete", "all parents have the revision")}, rolledOut},
		"no parents":                         {[]string{"parents: {total: 25, ready: 20, failed: 1, waiting: 1, updated: 22, suspended: 3}", "parents: {}"}, rolledOut},
		"some parents have the old revision": {[]string{"updated: 22", "updated: 21"}, waiting + "21 of 22 parents have been updated...\n"},
		"another revision is current":        {[]string{"currentRevision: NEWEST", "currentRevision: 0123456789abcdef"}, waiting + "22 of 22 parents have been updated...\n"},
		"the spec was not observed":          {[]string{anywhere, "generation: 3"}, "Waiting for templatecontroller \"apps\" spec update to be observed...\n"},
		"no installation serves it":          {[]string{"  className: \"\"\n", ""}, "Waiting for templatecontroller \"apps\" spec update to be observed...\n"},
		"steps":                              {condition("True", "RollingOut", "step 2 of 4: 10 of 25 parents are updated, 9 are ready"), waiting + "step 2 of 4: 10 of 25 parents are updated, 9 are ready...\n"},
		"preflight runs":                     {condition("True", "PreflightRunning", "1 of 3 parents are checked"), waiting + "1 of 3 parents are checked...\n"},
		"paused":                             {condition("Unknown", "RolloutPaused", "step 1 of 2: spec.rollout.paused is true"), waiting + "it is paused: step 1 of 2: spec.rollout.paused is true; to continue, run templater rollout resume apps...\n"},
		"approval is required":               {condition("Unknown", "ApprovalRequired", "revision a waits"), waiting + "it needs approval: revision a waits; to approve it, run templater rollout approve apps...\n"},
		"halted":                             {condition("False", "RolloutHalted", "step 1 of 2: 1 of 2 parents have failed"), `failed: the rollout of templatecontroller "apps" is halted: RolloutHalted: step 1 of 2: 1 of 2 parents have failed`},
		"a revision is missing":              {condition("False", "RevisionNotFound", "no"), `failed: the rollout of templatecontroller "apps" is halted: RevisionNotFound: no`},
		"preflight refused it":               {condition("False", "PreflightFailed", "no"), `failed: the new revision of templatecontroller "apps" was refused by preflight, and the previous one keeps working: PreflightFailed: no`},
		"preflight only warns":               {condition("True", "PreflightFailed", "no"), waiting + "no...\n"},
		"the spec is rejected":               {[]string{`status: "True", reason: Accepted, message: fine`, `status: "False", reason: InvalidTemplate, message: wrong`}, `failed: the spec of templatecontroller "apps" was rejected: InvalidTemplate: wrong`},
		"the spec is not accepted yet":       {[]string{"type: Accepted", "type: Other"}, waiting + "the spec is not accepted yet...\n"},
		"the kind does not exist yet":        {[]string{`status: "True", reason: Watching, message: fine`, `status: "False", reason: KindNotFound, message: no App`}, waiting + "KindNotFound: no App...\n"},
		"suspended":                          {[]string{newSpec, "spec:\n  suspend: true\n  watch"}, waiting + "spec.suspend is true, so nothing is rolled out...\n"},
		"being deleted":                      {[]string{anywhere, `generation: 2, deletionTimestamp: "2026-01-01T00:00:00Z"`}, `failed: templatecontroller "apps" is being deleted`},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t, row.pairs...)
			c.check(c.rollout().Status(t.Context(), StatusOptions{}), row.want)
		})
	}
}

func TestStatusOfCertainRevision(t *testing.T) {
	for number, want := range map[int64]string{
		4: rolledOut,
		3: "failed: unable to find specified revision 3 in history: see templater rollout history apps",
		1: "failed: desired revision (" + idOf(newCluster(t), 1) + ") is different from the running revision (" + idOf(newCluster(t), 4) + ")",
	} {
		c := newCluster(t)
		c.check(c.rollout().Status(t.Context(), StatusOptions{Watch: true, Revision: number}), want)
	}
	c := newCluster(t)
	c.refuse("list", "templaterevisions", apierrors.NewForbidden(v1.RevisionResource.GroupResource(), "", errors.New("no")))
	c.check(c.rollout().Status(t.Context(), StatusOptions{Revision: 4}), "error: list TemplateRevisions, which may contain secrets in spec.values: templaterevisions.templater.dev is forbidden: no")
}

// watched has each watch deliver the events of one step, and then end.
func (c *cluster) watched(steps ...func(*watch.FakeWatcher)) {
	c.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
		if len(steps) == 0 {
			return true, nil, apierrors.NewForbidden(v1.Resource.GroupResource(), "", errors.New("no further watch"))
		}
		w, step := watch.NewFakeWithChanSize(10, false), steps[0]
		steps = steps[1:]
		step(w)
		return true, w, nil
	})
}

// with returns the object with a number of updated parents.
func (c *cluster) with(updated int64) *unstructured.Unstructured {
	o := c.now()
	if err := unstructured.SetNestedField(o.Object, updated, "status", "parents", "updated"); err != nil {
		c.t.Fatal(err)
	}
	return o
}

func (c *cluster) store(o *unstructured.Unstructured) {
	if err := c.Tracker().Update(v1.Resource, o, ""); err != nil {
		c.t.Error(err)
	}
}

func TestStatusFollowsTheRollout(t *testing.T) {
	const start = waiting + "20 of 22 parents have been updated...\n"
	for why, row := range map[string]struct {
		steps func(c *cluster) []func(*watch.FakeWatcher)
		want  string
	}{
		"until the end": {func(c *cluster) []func(*watch.FakeWatcher) {
			return []func(*watch.FakeWatcher){func(w *watch.FakeWatcher) {
				w.Modify(c.with(20))
				w.Modify(c.with(21))
				w.Modify(c.with(22))
			}}
		}, start + waiting + "21 of 22 parents have been updated...\n" + rolledOut},
		"other objects are ignored": {func(c *cluster) []func(*watch.FakeWatcher) {
			return []func(*watch.FakeWatcher){func(w *watch.FakeWatcher) {
				other := c.with(22)
				other.SetName("other")
				w.Modify(other)
				w.Action(watch.Bookmark, &metav1.Status{})
				w.Modify(c.with(22))
			}}
		}, start + rolledOut},
		"the watch ends": {func(c *cluster) []func(*watch.FakeWatcher) {
			return []func(*watch.FakeWatcher){
				func(w *watch.FakeWatcher) { w.Stop() },
				func(w *watch.FakeWatcher) { w.Error(&metav1.Status{Code: 410}) },
				func(w *watch.FakeWatcher) { c.store(c.with(22)); w.Stop() },
			}
		}, start + rolledOut},
		"it fails": {func(c *cluster) []func(*watch.FakeWatcher) {
			return []func(*watch.FakeWatcher){func(w *watch.FakeWatcher) {
				o := c.with(20)
				o.SetDeletionTimestamp(&metav1.Time{Time: noon})
				w.Modify(o)
			}}
		}, `failed: templatecontroller "apps" is being deleted`},
		"it is deleted": {func(c *cluster) []func(*watch.FakeWatcher) {
			return []func(*watch.FakeWatcher){func(w *watch.FakeWatcher) { w.Delete(c.with(20)) }}
		}, `failed: templatecontroller "apps" has been deleted`},
		"it is deleted between two watches": {func(c *cluster) []func(*watch.FakeWatcher) {
			return []func(*watch.FakeWatcher){func(w *watch.FakeWatcher) {
				if err := c.Tracker().Delete(v1.Resource, "", "apps"); err != nil {
					c.t.Error(err)
				}
				w.Stop()
			}}
		}, `error: read TemplateController apps: templatecontrollers.templater.dev "apps" not found`},
		"it cannot be read": {func(c *cluster) []func(*watch.FakeWatcher) {
			return []func(*watch.FakeWatcher){func(w *watch.FakeWatcher) {
				o := c.with(20)
				o.Object["status"] = "none"
				w.Modify(o)
			}}
		}, "error: TemplateController apps cannot be read: "},
		"watching is not allowed": {func(*cluster) []func(*watch.FakeWatcher) { return nil }, `error: watch templatecontroller "apps": templatecontrollers.templater.dev is forbidden: no further watch`},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t, "updated: 22", "updated: 20")
			c.watched(row.steps(c)...)
			if got := c.result(c.rollout().Status(t.Context(), StatusOptions{Watch: true})); !strings.HasPrefix(got, row.want) || got != row.want && !strings.HasSuffix(row.want, ": ") {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestStatusSurvivesFailedRequests(t *testing.T) {
	c := newCluster(t, "updated: 22", "updated: 20")
	requests := 0
	c.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		requests++
		if requests == 3 {
			c.store(c.with(22))
		}
		return requests == 2, nil, apierrors.NewInternalError(errors.New("restarting"))
	})
	watches := 0
	c.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
		watches++
		return true, nil, apierrors.NewTooManyRequestsError("later")
	})
	c.check(c.rollout().Status(t.Context(), StatusOptions{Watch: true}), waiting+"20 of 22 parents have been updated...\n"+rolledOut)
	if requests != 3 || watches != 1 {
		t.Errorf("%d requests and %d watches, want 3 and 1", requests, watches)
	}
}

func TestStatusEnds(t *testing.T) {
	const message = waiting + "20 of 22 parents have been updated..."
	t.Run("on timeout", func(t *testing.T) {
		c := newCluster(t, "updated: 22", "updated: 20")
		c.check(c.rollout().Status(t.Context(), StatusOptions{Watch: true, Timeout: time.Millisecond}), "failed: timed out waiting for the condition: "+message)
	})
	t.Run("on an interrupt during a watch", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := newCluster(t, "updated: 22", "updated: 20")
		c.watched(func(*watch.FakeWatcher) { cancel() })
		c.check(c.rollout().Status(ctx, StatusOptions{Watch: true}), "error: interrupted: context canceled")
	})
	t.Run("on an interrupt between two watches", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := newCluster(t, "updated: 22", "updated: 20")
		c.watched(func(w *watch.FakeWatcher) { w.Stop(); cancel() })
		r := c.rollout()
		r.Pause = time.Hour
		c.check(r.Status(ctx, StatusOptions{Watch: true}), "error: interrupted: context canceled")
	})
	t.Run("without the object", func(t *testing.T) {
		c := newCluster(t)
		r := c.rollout()
		r.Key = "other"
		c.check(r.Status(t.Context(), StatusOptions{Watch: true}), `error: read TemplateController other: templatecontrollers.templater.dev "other" not found`)
	})
}
