package podlogs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/kube/object"
)

func TestLogOfTerminatedContainerIsReadOnce(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.set("a/c", "text", nil)
		if got := k.reconcile("p", pod("a", ended)); len(got) > 0 {
			t.Errorf("the first reconciliation sees %v, want that it does not wait", got)
		}
		pause(time.Second)
		k.expect(t, []string{"/ns/a/c"}, []string{"p 0s"})
		for range 3 {
			if got := k.reconcile("p", pod("a", ended)); got["a/c"] != "text" {
				t.Errorf("a later reconciliation sees %v", got)
			}
			pause(24 * time.Hour)
		}
		k.expect(t, nil, nil)
		k.reconcile("p")
		k.empty(t)
	})
}

func TestLogIsReadAgainAfterContainerChange(t *testing.T) {
	for name, row := range map[string]struct {
		first, second ran
		after         time.Duration
		asked         bool
	}{
		"when the container has ended":               {runs, ended, 0, true},
		"when it has been started again":             {runs, ran{"2", false}, 0, true},
		"when it has failed again":                   {ended, ran{"2", true}, 0, true},
		"when it runs, at the resync":                {runs, runs, resync, true},
		"not when it runs, before the resync":        {runs, runs, resync - time.Minute, false},
		"not when it has ended, even at the resync":  {ended, ended, resync, false},
		"when it runs and its runtime gives no name": {ran{}, ran{}, resync, true},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, k *kubelet) {
				k.set("a/c", "old", nil)
				k.reconcile("p", pod("a", row.first))
				pause(time.Second)
				k.expect(t, []string{"/ns/a/c"}, []string{"p 0s"})
				k.set("a/c", "new", nil)
				pause(row.after)
				if got := k.reconcile("p", pod("a", row.second)); got["a/c"] != "old" {
					t.Errorf("meanwhile the reconciliation sees %v, want what was known", got)
				}
				pause(time.Second)
				if row.asked {
					k.expect(t, []string{"/ns/a/c"}, []string{"p 0s"})
				} else {
					k.expect(t, nil, nil)
				}
			})
		})
	}
}

func TestUnchangedLogTriggersNoReconciliation(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.set("a/c", "text", nil)
		k.reconcile("p", pod("a", runs))
		pause(resync)
		k.expect(t, []string{"/ns/a/c"}, []string{"p 0s"})
		k.reconcile("p", pod("a", runs))
		pause(time.Second)
		k.expect(t, []string{"/ns/a/c"}, nil)
	})
}

func TestEmptyLogIsCached(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.set("a/c", "", nil)
		k.reconcile("p", pod("a", ended))
		pause(time.Second)
		k.expect(t, []string{"/ns/a/c"}, []string{"p 0s"})
		if got, known := k.reconcile("p", pod("a", ended))["a/c"]; got != "" || !known {
			t.Errorf("the reconciliation sees %q, known: %v", got, known)
		}
	})
}

// TestDroppedLogDoesNotDelayParent: a parent no longer wants one of two logs while both are being read.
func TestDroppedLogDoesNotDelayParent(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.set("a/c", "text", nil)
		k.set("b/c", "text", nil)
		k.reconcile("p", pod("a", ended), pod("b", ended))
		k.reconcile("p", pod("b", ended))
		pause(2 * time.Second)
		if _, woken := k.take(); !slices.Equal(woken, []string{"p 0s"}) {
			t.Errorf("woke %q, want the parent at once", woken)
		}
	})
}

func TestLogOfPreviousContainerRunIsDiscarded(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.set("a/c", "text", nil)
		k.reconcile("p", pod("a", runs))
		synctest.Wait()
		k.reconcile("p", pod("a", ended))
		pause(time.Second)
		k.expect(t, []string{"/ns/a/c", "/ns/a/c"}, []string{"p 0s"})
	})
}

func TestParentsShareLog(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.set("a/c", "text", nil)
		k.reconcile("p", pod("a", ended))
		k.reconcile("q", pod("a", ended))
		pause(time.Second)
		k.expect(t, []string{"/ns/a/c"}, []string{"p 0s", "q 0s"})
		k.f.Forget(key("p"))
		if got := k.reconcile("q", pod("a", ended)); got["a/c"] != "text" {
			t.Errorf("without the other parent, the reconciliation sees %v", got)
		}
		k.f.ForgetController("y")
		k.f.ForgetController("x")
		k.empty(t)
	})
}

// A service account cannot see logs that were read as another one.
func TestLogsAreNotSharedBetweenServiceAccounts(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.set("a/c", "text", nil)
		k.reconcile("p", pod("a", ended))
		pause(time.Second)
		s := k.f.Begin(key("q"), "other", resync)
		if got := s.Logs(pod("a", ended), options); len(got) > 0 {
			t.Errorf("another account sees %v", got)
		}
		s.End()
		pause(time.Second)
		k.expect(t, []string{"/ns/a/c", "other/ns/a/c"}, []string{"p 0s", "q 0s"})
	})
}

func TestIncompleteReconciliationKeepsLogs(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.set("a/c", "text", nil)
		k.reconcile("p", pod("a", ended))
		pause(time.Second)
		k.take()
		k.f.Begin(key("p"), "", resync) // without End
		if got := k.reconcile("p", pod("a", ended)); got["a/c"] != "text" {
			t.Errorf("the next reconciliation sees %v", got)
		}
		k.expect(t, nil, nil)
		k.f.Begin(key("p"), "", resync).End()
		k.empty(t)
	})
}

// If a parent is deleted while its logs are being read, they are dropped, and it is not enqueued.
func TestUnwantedLogsAreDropped(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.reconcile("p", pod("a", ended), pod("b", ended), pod("c", ended), pod("d", ended), pod("e", ended))
		synctest.Wait()
		k.f.Forget(key("p"))
		pause(time.Second)
		k.expect(t, []string{"/ns/a/c", "/ns/b/c", "/ns/c/c", "/ns/d/c"}, nil)
		k.empty(t)
	})
}

func TestManyFailingPodsDoNotDelayReconciliation(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		var pods []*object.Object
		for i := range 200 {
			name := fmt.Sprintf("a%d", i)
			pods = append(pods, pod(name, ended))
			k.set(name+"/c", "text", nil)
		}
		start := time.Now()
		k.reconcile("p", pods...)
		if took := time.Since(start); took > 0 {
			t.Errorf("the reconciliation took %s, want that it waits for nothing", took)
		}
		pause(10 * time.Second)
		asked, woken := k.take()
		if len(asked) != 200 || k.most["all"] != maxRequestsPerTenant {
			t.Errorf("%d requests, %d at a time; want 200 and %d", len(asked), k.most["all"], maxRequestsPerTenant)
		}
		count := map[string]int{}
		for _, w := range woken {
			count[w]++
		}
		if diff := cmp.Diff(map[string]int{"p 1s": 199, "p 0s": 1}, count); diff != "" {
			t.Errorf("the parent waits for what is on its way (-want +got):\n%s", diff)
		}
		if got := k.reconcile("p", pods...); len(got) != 200 {
			t.Errorf("%d logs are known, want 200", len(got))
		}
	})
}

func TestConcurrentLogRequestsAreLimited(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.takes = 100 * time.Millisecond
		for i := range 20 { // two service accounts each
			as := fmt.Sprintf("tenant%d/%d", i/2, i%2)
			s := k.f.Begin(keyOf(as, "p"), as, 0)
			for j := range 25 {
				s.Logs(pod(fmt.Sprint(j), ended), options)
			}
			s.End()
		}
		pause(time.Minute)
		asked, _ := k.take()
		if len(asked) != 500 || k.most["all"] != maxRequests {
			t.Errorf("%d requests, %d at a time; want 500 and %d", len(asked), k.most["all"], maxRequests)
		}
		for who, most := range k.most {
			if who != "all" && most > maxRequestsPerTenant {
				t.Errorf("%s has %d requests at a time, want at most %d", who, most, maxRequestsPerTenant)
			}
		}
		var charged time.Duration
		for as, took := range k.charged {
			if took != 25*k.takes {
				t.Errorf("%s is charged with %s, want what its requests took, %s", as, took, 25*k.takes)
			}
			charged += took
		}
		if charged != 500*k.takes {
			t.Errorf("%s are charged in all, want %s", charged, 500*k.takes)
		}
	})
}

func TestLogRequestsPerTenantAreRateLimited(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.takes = 0
		var pods []*object.Object
		for i := range 400 {
			pods = append(pods, pod(fmt.Sprint(i), ended))
		}
		k.reconcile("p", pods...)
		pause(2*time.Second + time.Millisecond)
		if asked, _ := k.take(); len(asked) > requestBurst+2*requestsPerSecond+1 || len(asked) < requestBurst+requestsPerSecond {
			t.Errorf("%d requests within two seconds", len(asked))
		}
	})
}

func TestLogMemoryIsLimited(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.takes = 0
		large := options
		large.LimitBytes = 1 << 20
		room := MaxHeldBytesPerTenant / (1<<20 + perLog)
		ask := func(as string, from, to int) {
			s := k.f.Begin(keyOf(as, "p"), as, 0)
			for i := from; i < to; i++ {
				s.Logs(pod(fmt.Sprint(i), ended), large)
			}
			s.End()
			synctest.Wait()
		}
		ask("a/1", 0, room-5)
		ask("a/2", 0, 10) // another service account of that tenant
		asked, _ := k.take()
		failures := k.f.Failures("a/2")
		if len(asked) != room || len(failures) != 1 || !failures[0].Full() || failures[0].Logs != 5 {
			t.Errorf("%d requests, want %d; failures %v", len(asked), room, failures)
		}
		for _, as := range []string{"b", "c", "d", "e"} {
			ask(as, 0, room)
		}
		if more, _ := k.take(); room+len(more) != MaxHeldBytes/(1<<20+perLog) {
			t.Errorf("%d requests for four more tenants", len(more))
		}
		ask("b", 0, 0) // releases its memory
		ask("a/1", 2, room-5)
		pause(deniedFor)
		if got := k.f.Failures("a/2"); len(got) != 1 || got[0].Logs != 3 {
			t.Errorf("failures are %v, want 3 logs of the first tenant", got)
		}
		for _, name := range []string{"a/1", "a/2", "b", "c", "d", "e"} {
			k.f.ForgetController(name)
		}
		k.empty(t)
	})
}

func TestLogMemoryLimitIsExact(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.takes = 0
		exact := options
		exact.LimitBytes = 1<<20 - perLog
		s := k.f.Begin(key("p"), "", 0)
		for i := range MaxHeldBytesPerTenant>>20 + 1 {
			s.Logs(pod(fmt.Sprint(i), ended), exact)
		}
		s.End()
		synctest.Wait()
		if asked, _ := k.take(); len(asked) != MaxHeldBytesPerTenant>>20 {
			t.Errorf("%d requests, want %d", len(asked), MaxHeldBytesPerTenant>>20)
		}
	})
}

func TestLogReadErrorIsReported(t *testing.T) {
	for name, row := range map[string]struct {
		err    error
		within time.Duration
		asked  int // within that time
	}{
		"a right is missing":    {errForbidden, 2 * deniedFor, 3},
		"its node is away":      {errAway, 35*time.Second + time.Second, 4},
		"it has not begun":      {errNotBegun, 24 * time.Hour, 1},
		"the Pod is gone":       {answer(404, "NotFound", ""), 24 * time.Hour, 1},
		"the server is not":     {fmt.Errorf("no answer"), 35*time.Second + time.Second, 4},
		"its node stays away":   {errAway, 24 * time.Hour, 293},
		"a right stays missing": {errForbidden, 24 * time.Hour, 2*60*24 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, k *kubelet) {
				k.takes = 0
				k.set("a/c", "", row.err)
				if got := k.reconcile("p", pod("a", ended)); len(got) > 0 {
					t.Errorf("the reconciliation sees %v", got)
				}
				pause(row.within)
				asked, woken := k.take()
				if got := len(asked); got != row.asked {
					t.Errorf("asked %d times, want %d", got, row.asked)
				}
				if len(woken) > 0 {
					t.Errorf("woke %q", woken)
				}
				want := []Failure{{Namespace: "ns", Pod: "a", Container: "c", Logs: 1, Err: row.err}}
				if got := k.f.Failures("x"); !slices.EqualFunc(got, want, func(a, b Failure) bool {
					return a.Namespace == b.Namespace && a.Pod == b.Pod && a.Container == b.Container && a.Logs == b.Logs && describe(a.Err) == describe(b.Err)
				}) {
					t.Errorf("failures are %v, want %v", got, want)
				}
				if k.changed["x"] != 1 {
					t.Errorf("the controller heard %d times, want once", k.changed["x"])
				}
				k.set("a/c", "text", nil)
				k.reconcile("p", pod("a", ran{"2", true}))
				pause(deniedFor)
				if got := k.reconcile("p", pod("a", ran{"2", true})); got["a/c"] != "text" || len(k.f.Failures("x")) > 0 || k.changed["x"] != 2 {
					t.Errorf("later the reconciliation sees %v, failures are %v, the controller heard %d times", got, k.f.Failures("x"), k.changed["x"])
				}
			})
		})
	}
}

// While no reconciliation can follow, nothing is requested, and an error whose retry is due is no longer reported. Once
// parents are reconciled again, the first reconciliation requests the log.
func TestLogsAreNotRetriedWhileReconciliationIsPaused(t *testing.T) {
	for name, row := range map[string]struct {
		err      error
		asked    []string // by the next reconciliation
		failures int      // in the meantime
	}{
		"a right is missing": {errForbidden, []string{"/ns/a/c"}, 0},
		"its node is away":   {errAway, []string{"/ns/a/c"}, 0},
		"it has not begun":   {errNotBegun, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, k *kubelet) {
				k.takes = 0
				k.set("a/c", "", row.err)
				k.reconcile("p", pod("a", ended))
				synctest.Wait()
				k.rest("x", true)
				pause(resync)
				k.take()
				pause(24 * time.Hour)
				k.expect(t, nil, nil)
				if got := len(k.f.Failures("x")); got != row.failures || k.changed["x"] != 2-row.failures {
					t.Errorf("%d failures, Changed was called %d times, want %d failures and %d calls", got, k.changed["x"], row.failures, 2-row.failures)
				}
				k.rest("x", false)
				k.reconcile("p", pod("a", ended))
				pause(time.Second)
				k.expect(t, row.asked, nil)
				if got := len(k.f.Failures("x")); got != 1 {
					t.Errorf("%d failures after the next reconciliation, want 1", got)
				}
			})
		})
	}
}

// A reconciliation may resume while a retry finds that reconciliation is paused.
func TestLogIsRequestedIfReconciliationResumesDuringRetry(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.takes = 0
		k.set("a/c", "", errAway)
		k.reconcile("p", pod("a", ended))
		synctest.Wait()
		k.set("a/c", "text", nil)
		k.take()
		k.f.mu.Lock() // the retry is scheduled
		k.f.o.Runs = func(string) bool {
			k.reconcile("p", pod("a", ended))
			return false // the result from before
		}
		k.f.mu.Unlock()
		pause(firstLogRetry)
		k.expect(t, []string{"/ns/a/c"}, []string{"p 0s"})
		if got := k.f.Failures("x"); len(got) > 0 {
			t.Errorf("failures are %v, want none", got)
		}
	})
}

// A log of several TemplateControllers is retried only for those that reconcile parents.
func TestLogIsRetriedForActiveControllersOnly(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.takes = 0
		k.set("a/c", "", errAway)
		for _, name := range []string{"x/1", "x/2"} {
			s := k.f.Begin(keyOf(name, "p"), "", resync)
			s.Logs(pod("a", ended), options)
			s.End()
		}
		k.rest("x/1", true)
		pause(firstLogRetry)
		k.expect(t, []string{"/ns/a/c", "/ns/a/c"}, nil)
	})
}

// If a permission is missing, one request is enough for the whole namespace.
func TestForbiddenLogBacksOffNamespace(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		var pods []*object.Object
		for i := range 100 {
			name := fmt.Sprint("a", i)
			pods = append(pods, pod(name, ended))
			k.set(name+"/c", "text", errForbidden)
		}
		k.reconcile("p", pods...)
		pause(deniedFor - time.Second)
		if asked, _ := k.take(); len(asked) > maxRequestsPerTenant {
			t.Errorf("%d requests, want %d", len(asked), maxRequestsPerTenant)
		}
		failures := k.f.Failures("x")
		if len(failures) != 1 || failures[0].Logs != 100 || !failures[0].Denied() {
			t.Errorf("failures are %v", failures)
		}
		for i := range 100 {
			k.set(fmt.Sprintf("a%d/c", i), "text", nil)
		}
		pause(5 * time.Second)
		if got := k.reconcile("p", pods...); len(got) != 100 || len(k.f.Failures("x")) > 0 {
			t.Errorf("once the right is there, the reconciliation sees %d logs; failures are %v", len(got), k.f.Failures("x"))
		}
		if asked, _ := k.take(); len(asked) != 100 {
			t.Errorf("%d requests, want 100", len(asked))
		}
	})
}

// A service account that may read only some logs of a namespace reads these, even if others are denied.
func TestForbiddenLogDoesNotBlockOthers(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.set("a/c", "text", nil)
		k.set("b/c", "", errForbidden)
		k.reconcile("p", pod("b", runs))
		pause(time.Second)
		k.reconcile("p", pod("a", runs), pod("b", runs)) // only its own response counts for a, which may take a while
		pause(ownRequestAfter + 2*deniedFor)
		if got := k.reconcile("p", pod("a", runs), pod("b", runs)); got["a/c"] != "text" {
			t.Fatalf("the reconciliation sees %v, want the log that can be read", got)
		}
		k.take()
		for range 5 {
			pause(resync)
			k.reconcile("p", pod("a", runs), pod("b", runs))
			synctest.Wait()
			if asked, _ := k.take(); !slices.Contains(asked, "/ns/a/c") {
				t.Errorf("asked for %q, want the log that was there to be read again", asked)
			}
			if got := k.reconcile("p", pod("a", runs), pod("b", runs)); got["a/c"] != "text" {
				t.Errorf("the reconciliation sees %v, want the log that can be read", got)
			}
		}
		k.set("a/c", "", errForbidden)
		pause(resync)
		k.reconcile("p", pod("a", runs), pod("b", runs))
		pause(time.Second)
		if got := k.reconcile("p", pod("a", runs), pod("b", runs)); len(got) > 0 {
			t.Errorf("once the server refuses it, the reconciliation sees %v", got)
		}
	})
}

// The known log of a run is kept while its node is unreachable, and dropped once reading it is forbidden.
func TestKnownLogIsKeptOnlyWhileNodeIsUnreachable(t *testing.T) {
	for name, row := range map[string]struct {
		err  error
		next ran
		want string
	}{
		"node away":                     {errAway, runs, "text"},
		"right withdrawn":               {errForbidden, runs, ""},
		"node away, started once more":  {errAway, ran{"2", false}, ""},
		"not there, once it was killed": {errNotBegun, ended, ""},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, k *kubelet) {
				k.set("a/c", "text", nil)
				k.reconcile("p", pod("a", runs))
				pause(resync)
				k.take()
				k.set("a/c", "", row.err)
				k.reconcile("p", pod("a", row.next))
				pause(time.Second)
				_, woken := k.take()
				if got := k.reconcile("p", pod("a", row.next)); got["a/c"] != row.want {
					t.Errorf("the reconciliation sees %v, want %q", got, row.want)
				}
				if (len(woken) > 0) != (row.want == "") {
					t.Errorf("woke %q", woken)
				}
			})
		})
	}
}

func TestContainersWithLogs(t *testing.T) {
	state := func(kind, id string) map[string]any { return map[string]any{kind: map[string]any{"containerID": id}} }
	for name, row := range map[string]struct {
		status   map[string]any
		want     []container
		previous []container
	}{
		"running":        {map[string]any{"containerID": "1", "state": state("running", "")}, []container{{"c", ran{"1", false}}}, nil},
		"ended":          {map[string]any{"state": state("terminated", "1")}, []container{{"c", ran{"1", true}}}, nil},
		"waits":          {map[string]any{"state": state("waiting", "")}, nil, nil},
		"never begun":    {map[string]any{"state": state("terminated", "")}, nil, nil},
		"waits again":    {map[string]any{"state": state("waiting", ""), "lastState": state("terminated", "1")}, []container{{"c", ran{"1", true}}}, []container{{"c", ran{"1", true}}}},
		"runs again":     {map[string]any{"containerID": "2", "state": state("running", ""), "lastState": state("terminated", "1")}, []container{{"c", ran{"2", false}}}, []container{{"c", ran{"1", true}}}},
		"nothing":        {map[string]any{}, nil, nil},
		"other in state": {map[string]any{"state": "x", "lastState": []any{}}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			status := maps.Clone(row.status)
			status["name"] = "c"
			p := map[string]any{"containerStatuses": []any{status}}
			for previous, want := range map[bool][]container{false: row.want, true: row.previous} {
				if got := containersOf(p, previous); !slices.Equal(got, want) {
					t.Errorf("previous %t: containers with a log are %v, want %v", previous, got, want)
				}
			}
		})
	}
	p := map[string]any{
		"initContainerStatuses": []any{containerStatus("a", ended)}, "containerStatuses": []any{containerStatus("b", runs), "x", map[string]any{}},
		"ephemeralContainerStatuses": []any{containerStatus("d", runs)},
	}
	if got := containersOf(p, false); len(got) != 3 {
		t.Errorf("containers with a log are %v, want one of each sort", got)
	}
	for _, p := range []any{nil, "x", map[string]any{}, map[string]any{"containerStatuses": "x"}} {
		if got := containersOf(p, false); len(got) > 0 {
			t.Errorf("%v has containers with a log: %v", p, got)
		}
	}
}

// TestContainersPerPodAreLimited uses a status with containers that no Pod can have.
func TestContainersPerPodAreLimited(t *testing.T) {
	name, id := strings.Repeat("n", maxContainerName), strings.Repeat("i", maxRunID)
	statuses := []any{containerStatus(name+"n", runs), containerStatus("c", ran{id: id + "i"}), containerStatus("c", ran{id + "i", true}), containerStatus(name, ran{id: id})}
	of := func(statuses []any) []container {
		return containersOf(map[string]any{"containerStatuses": statuses}, false)
	}
	if got, want := of(statuses), []container{{name, ran{id: id}}}; !slices.Equal(got, want) {
		t.Errorf("containers with a log are %v, want %v", got, want)
	}
	for i := range maxContainers {
		statuses = append(statuses, containerStatus(fmt.Sprint(i), runs))
	}
	if got := of(statuses); len(got) != maxContainers {
		t.Errorf("%d containers have a log, want %d", len(got), maxContainers)
	}
}

func TestNoLogIsReadAfterClose(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.takes = time.Hour
		k.reconcile("p", pod("a", ended))
		synctest.Wait()
		k.take()
		k.f.Close()
		k.reconcile("p", pod("b", ended))
		k.f.Forget(key("p"))
		k.expect(t, nil, nil)
		k.empty(t)
	})
}

func TestForgetWithoutLogsAllocatesNothing(t *testing.T) {
	f := New(Options{})
	defer f.Close()
	if n := testing.AllocsPerRun(100, func() { f.Forget(key("p")) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
