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

// leaveOut skips a test that cannot run here. Under CI it fails, because a skip would go unnoticed.
func leaveOut(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s: without CI in the environment this test would be left out", why)
	}
	t.Skip(why)
}

// needsAudit skips a test that counts requests if there is no audit log.
func needsAudit(t *testing.T) {
	t.Helper()
	if env.cluster == nil {
		leaveOut(t, "requests are counted in the audit log, which a cluster from TEMPLATER_E2E_KUBECONFIG does not give")
	}
}

// mark returns the current end of the audit log.
func mark(t *testing.T) audit.Mark {
	t.Helper()
	m, err := env.cluster.Audit().Mark()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// requests returns the operator's requests since the mark, except Leases, Events, the debounced status of
// TemplateControllers, TemplateRevisions and dry runs, which are only sent after edits of TemplateControllers, and the permission checks of related watches, whose timing varies. All paths of a scope's
// objects contain its ID.
func (op *operator) requests(since audit.Mark) []audit.Event {
	op.t.Helper()
	events, err := env.cluster.Audit().Since(since, func(e audit.Event) bool {
		aside := slices.Contains([]string{"leases", "events", "selfsubjectaccessreviews", "templaterevisions"}, e.ObjectRef.Resource) ||
			strings.Contains(e.RequestURI, "dryRun=All") ||
			e.ObjectRef.Resource == "templatecontrollers" && e.ObjectRef.Subresource == "status"
		return e.User.Username == op.user && strings.Contains(e.RequestURI, op.about) && !aside
	})
	if err != nil {
		op.t.Fatal(err)
	}
	return events
}

// writes are the operator's write requests.
func (op *operator) writes(since audit.Mark) []audit.Event {
	op.t.Helper()
	return slices.DeleteFunc(op.requests(since), func(e audit.Event) bool {
		return slices.Contains([]string{"get", "list", "watch"}, e.Verb)
	})
}

// tally counts requests by verb, resource and status code: "patch configmaps 201".
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

// quiet waits until the operator has made no request for that long. Requests that began before do not count; without an
// audit log it returns immediately.
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
		seen = now // others may write to the log in the meantime
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

// collectorTime is how long templater leaves children of a missing parent to the garbage collector:
// docs/reference/limits.md.
const collectorTime = 60 * time.Second

// expectLeftToCollector expects that the operator did not delete children of parents that were deleted at that time
// before collectorTime was over. The garbage collector may be that late, because other tests create and delete kinds. A
// child that it deletes before the operator observes the deletion of the parent may be recreated once, and is deleted
// in the same way.
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

// learnsKinds reports whether an entry of a tally is discovery, which has no resource, or the one read of the watched
// kind's CRD, which is used to check templates.
func learnsKinds(request string, times int) bool {
	return strings.HasPrefix(request, "get  ") || request == "get customresourcedefinitions 200" && times == 1
}
