package e2e

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/audit"
	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// leaveOut skips a test of what cannot be had here. Under CI, it fails: nobody would see that it was left out.
func leaveOut(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s: without CI in the environment this test would be left out", why)
	}
	t.Skip(why)
}

// needsAudit leaves out a test that counts requests where nothing records them.
func needsAudit(t *testing.T) {
	t.Helper()
	if env.cluster == nil {
		leaveOut(t, "requests are counted in the audit log, which a cluster from TEMPLATER_E2E_KUBECONFIG does not give")
	}
}

// mark returns the present end of the audit log.
func mark(t *testing.T) audit.Mark {
	t.Helper()
	m, err := env.cluster.Audit().Mark()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// requests returns what the operator has asked for since the mark, but for Leases, Events, the debounced status of
// TemplateControllers, and the permission checks of related watches, which come at their own pace. All paths of a scope's objects
// have its id.
func (op *operator) requests(since audit.Mark) []audit.Event {
	op.t.Helper()
	events, err := env.cluster.Audit().Since(since, func(e audit.Event) bool {
		aside := slices.Contains([]string{"leases", "events", "selfsubjectaccessreviews"}, e.ObjectRef.Resource) ||
			e.ObjectRef.Resource == "templatecontrollers" && e.ObjectRef.Subresource == "status"
		return e.User.Username == op.user && strings.Contains(e.RequestURI, op.about) && !aside
	})
	if err != nil {
		op.t.Fatal(err)
	}
	return events
}

// writes are the requests that change something.
func (op *operator) writes(since audit.Mark) []audit.Event {
	op.t.Helper()
	return slices.DeleteFunc(op.requests(since), func(e audit.Event) bool {
		return slices.Contains([]string{"get", "list", "watch"}, e.Verb)
	})
}

// tally counts requests by verb, resource and answer: "patch configmaps 201".
func tally(events []audit.Event) map[string]int {
	counts := map[string]int{}
	for _, e := range events {
		resource := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		counts[fmt.Sprintf("%s %s %d", e.Verb, resource, e.ResponseStatus.Code)]++
	}
	return counts
}

// quiet waits until the operator has made no request for that long. Long
// requests, which began before, are none; without an audit log it returns at once.
func (op *operator) quiet(long time.Duration) {
	op.t.Helper()
	if env.cluster == nil {
		return
	}
	seen, since := mark(op.t), time.Now()
	eventually(op.t, soon, func() error {
		now, err := env.cluster.Audit().Mark()
		if err != nil {
			return poll.Stop(err)
		}
		events := op.requests(seen)
		seen = now // others may fill the log meanwhile
		if len(events) > 0 {
			since = time.Now()
			return fmt.Errorf("the operator is busy: %v", events[len(events)-1])
		}
		if time.Since(since) < long {
			return errors.New("the operator has not been quiet for long")
		}
		return nil
	})
}

// collectorTime is how long templater leaves children whose parent is gone to the garbage collector: docs/reference/limits.md.
const collectorTime = 60 * time.Second

// expectLeftToCollector expects the operator to have left it to the garbage collector, for as long as it promises, to
// delete the children of parents that were deleted at that time. A collector that is that late, because kinds come and
// go in other tests, finds nothing left to do. A child that is collected before the operator sees its parent go may be
// created once more, and goes the same way.
func (op *operator) expectLeftToCollector(what string, since audit.Mark, deleted time.Time) {
	op.t.Helper()
	requests := op.requests(since)
	op.t.Logf("%s: %v", what, tally(requests))
	for _, r := range requests {
		if after := r.Received.Sub(deleted); strings.HasPrefix(r.Verb, "delete") && after < collectorTime {
			op.t.Errorf("%s: the operator made a request %v later: %v", what, after, r)
		}
	}
}

// learnsKinds reports whether requests of a tally are discovery, which is about no resource, or the one that reads the definition
// of the watched kind, by which templates are checked.
func learnsKinds(request string, times int) bool {
	return strings.HasPrefix(request, "get  ") || request == "get customresourcedefinitions 200" && times == 1
}
