package reconcile

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
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/budget"
)

func TestObservedChildrenRespectBudget(t *testing.T) {
	o := packed(t, parse(t, app))
	rec := reconciling(nil, &controller.Controller{}, o)
	rec.inputs.budget.Begin(nil)
	in := rec.inputs.forTemplates([]*child.Live{{Entry: "maps", Object: o}})
	if got, err := in.Observed("maps"); err != nil || len(got) != 1 {
		t.Errorf("%v, %v, want one object", got, err)
	}
	if err := rec.inputs.budget.Spend(2 * budget.MaxBytes); err == nil {
		t.Fatal("there is no end to the budget")
	}
	if got, err := in.Observed("maps"); err == nil {
		t.Errorf("%v are shown though the budget is used up", got)
	}
}

func TestOutcomeOfMissingParent(t *testing.T) {
	for result, want := range map[Result]record.Outcome{
		{}:                                      record.Succeeded,
		{After: 1}:                              record.Waiting,
		{Retry: problem.RetrySoon}:              record.Waiting,
		{Retry: problem.RetrySlow}:              record.Waiting,
		{Retry: problem.RetryBackoff}:           record.Failed,
		{Retry: problem.RetryBackoff, After: 1}: record.Failed,
	} {
		if got := outcomeOfMissing(result); got != want {
			t.Errorf("%+v: %v, want %v", result, got, want)
		}
	}
}

func TestParentGenerationAvoidsDecoding(t *testing.T) {
	for generation, decoded := range map[int64]bool{3: false, 0: true} {
		t.Run(fmt.Sprint(generation), func(t *testing.T) {
			parent := parse(t, app)
			parent.SetGeneration(generation)
			rec := reconciling(nil, &controller.Controller{}, packed(t, parent))
			if got := rec.guard.specs(); got.Parent == 0 || generation > 0 && got.Parent != generation {
				t.Errorf("generation %d: specs of %d", generation, got.Parent)
			}
			if got := rec.inputs.decoded != nil; got != decoded {
				t.Errorf("generation %d: the parent is decoded: %v, want %v", generation, got, decoded)
			}
			if diff := cmp.Diff(rec.parent.Content(), rec.inputs.content()); diff != "" {
				t.Errorf("generation %d: the parent has changed (-want +got):\n%s", generation, diff)
			}
		})
	}
}

// accepting is a Client that accepts all deletions.
type accepting struct{ controller.Client }

func (accepting) Delete(context.Context, request.Location, request.Deletion) error {
	return nil
}

// permissive are Controllers that allow deletions.
type permissive struct{ Controllers }

func (permissive) MayPrune(context.Context, *controller.Controller) bool { return true }

func (permissive) Confirmed(context.Context, *controller.Controller, *object.Object) bool {
	return true
}

func TestForegroundDeletionIsNotCountedAsRewrite(t *testing.T) {
	for _, foreground := range []bool{false, true} {
		t.Run(fmt.Sprint("foreground ", foreground), func(t *testing.T) {
			rec := reconciling(&Reconciler{Options: Options{Controllers: permissive{}}}, &controller.Controller{Access: controller.Access{Cluster: accepting{}, Meter: record.Discard{}}}, nil)
			rec.guard.rewrites = queue.NewRewrites()
			rec.deletions.begin()
			live := child.NewLive(configMaps, packed(t, parse(t, aConfigMap)))
			if _, issue := rec.deletions.remove(t.Context(), plan.Action{Verb: plan.Delete, Live: live, Foreground: foreground}); issue != nil {
				t.Fatal(issue.Message)
			}
			if got := rec.guard.rewrites.Advice(); strings.Contains(got, "the templates render") == foreground {
				t.Errorf("in the foreground: %v, and it is said: %s", foreground, got)
			}
		})
	}
}

func TestSealedChildTriggersControllerSync(t *testing.T) {
	cache, err := watch.NewCache(watch.Want{Role: watch.Child}, func(watch.Event) {}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	syncs := []string{}
	r := &Reconciler{Options: Options{SyncSoon: func(name string) { syncs = append(syncs, name) }}}
	rec := reconciling(r, &controller.Controller{Definition: controller.Definition{Name: "apps"}, Caches: controller.Caches{Sources: map[schema.GroupKind]controller.Source{configMaps.GroupKind(): {Caches: map[string]*watch.Cache{"": cache}}}}, Factory: &child.Factory{Ownership: &child.Ownership{}}}, nil)
	for _, adopting := range []bool{false, true} {
		t.Run(fmt.Sprint("adopting ", adopting), func(t *testing.T) {
			syncs = []string{}
			rec.Factory.Adopting = adopting
			rec.keep(packed(t, parse(t, aConfigMap)), configMaps)
			if got := slices.Equal(syncs, []string{"apps"}); got != adopting {
				t.Errorf("children are being sealed: %v, and there are syncs at %q", adopting, syncs)
			}
		})
	}
}

// sealing is a Client that returns an object or an error for a metadata change, and a Meter that records writes.
type sealing struct {
	controller.Client
	record.Discard
	after  *object.Object
	err    error
	writes []record.Response
}

func (s *sealing) SetMetadata(context.Context, request.Location, request.Metadata, string) (*object.Object, error) {
	return s.after, s.err
}

func (s *sealing) Write(_ record.Verb, answer record.Response) { s.writes = append(s.writes, answer) }

func TestRenewedSealIsCountedAndCached(t *testing.T) {
	keys := &seal.Ring{}
	keys.Set(seal.Generate(time.Now()))
	for why, row := range map[string]struct {
		err  error
		want record.Response
	}{
		"it is renewed": {nil, record.Accepted},
		"it is refused": {refusal(http.StatusConflict, metav1.StatusReasonConflict, "no"), record.Conflict},
	} {
		t.Run(why, func(t *testing.T) {
			cache, err := watch.NewCache(watch.Want{Role: watch.Child}, func(watch.Event) {}, func() {})
			if err != nil {
				t.Fatal(err)
			}
			before := packed(t, parse(t, aConfigMap))
			server := &sealing{after: packed(t, parse(t, with(t, aConfigMap, "'1'", "'2'"))), err: row.err}
			rule := &child.Ownership{Controller: "apps", Seals: keys}
			rec := reconciling(&Reconciler{}, &controller.Controller{
				Definition: controller.Definition{Name: "apps"},
				Access:     controller.Access{Cluster: server, Meter: server},
				Caches: controller.Caches{
					Sources: map[schema.GroupKind]controller.Source{configMaps.GroupKind(): {Caches: map[string]*watch.Cache{"": cache}}},
				},
				Factory: &child.Factory{Ownership: rule},
			}, nil)
			maker := &child.Maker{Ownership: rule, Parent: packed(t, parse(t, app)), Clock: clock.RealClock{}}
			a := applier{convergence: &convergence{reconciliation: rec, desired: child.Desired{Maker: maker}}}
			a.reseal(t.Context(), child.NewLive(configMaps, before))
			if diff := cmp.Diff([]record.Response{row.want}, server.writes); diff != "" {
				t.Errorf("writes that are measured (-want +got):\n%s", diff)
			}
			if kept := cache.Get(before.Key()) != nil; kept != (row.err == nil) || (rec.next.Retry == problem.RetrySlow) != (row.err != nil) {
				t.Errorf("kept %v, retry %v", kept, rec.next.Retry)
			}
		})
	}
}

func TestFailedSealRenewalIsRetriedSlowly(t *testing.T) {
	program, err := render.Compile(render.Source{})
	if err != nil {
		t.Fatal(err)
	}
	for want, row := range map[problem.Retry]struct {
		unrenewed bool
		problems  problem.List
	}{
		problem.RetryOnChange: {},
		problem.RetrySlow:     {unrenewed: true},
		problem.RetryBackoff:  {unrenewed: true, problems: problem.List{{Retry: problem.RetryBackoff}}},
		problem.RetryNow:      {unrenewed: true, problems: problem.List{{Retry: problem.RetryNow, Waiting: true}}},
	} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			rec := reconciling(nil, &controller.Controller{Definition: controller.Definition{Program: program, Resync: time.Hour}}, nil)
			if rec.problems = row.problems; row.unrenewed {
				rec.next.Retry = problem.RetrySlow
			}
			if got := rec.result(); got.Retry != want || got.After > 0 != (want == problem.RetryOnChange) {
				t.Errorf("not renewed: %v, problems: %d: retry %v after %s, want %v", row.unrenewed, len(row.problems), got.Retry, got.After, want)
			}
		})
	}
}
