package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/cluster/audit"
	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// userA and userB are the users of the two operators of a test, so that the audit log distinguishes them.
func userA(t *testing.T) string { return operatorOf(t) + "-a" }
func userB(t *testing.T) string { return operatorOf(t) + "-b" }

// newSharedScope is a scope with a kind Thing in which two operators have all permissions, including on Leases.
func newSharedScope(t *testing.T) *scope {
	t.Helper()
	s := newScope(t)
	s.defineThing()
	s.apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "e2e-@id-ha"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "e2e-@id"}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + userA(t) + `}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + userB(t) + `}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: leases}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}
`)
	for _, user := range []string{userA(t), userB(t)} {
		s.apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ` + user + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: leases}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + user + `}]
`)
		s.waitAllowed(user, authorizationv1.ResourceAttributes{Group: s.group, Resource: "things", Verb: "list"})
		s.waitAllowed(user, authorizationv1.ResourceAttributes{Group: "templater.dev", Resource: "templatecontrollers", Verb: "list"})
		s.waitAllowed(user, authorizationv1.ResourceAttributes{Resource: "configmaps", Verb: "create"})
		s.waitAllowed(user, authorizationv1.ResourceAttributes{Group: "coordination.k8s.io", Resource: "leases", Verb: "update", Namespace: s.ns})
	}
	return s
}

// replica starts an operator that competes for the Lease in the test's namespace.
func (s *scope) replica(user string, args ...string) *operator {
	s.t.Helper()
	return startOperatorAs(s.t, user, append([]string{"--leader-elect-resource-namespace", s.ns}, args...)...)
}

// waitLeading waits until the operator has become the leader, and returns how long that took.
func (op *operator) waitLeading(limit time.Duration) time.Duration {
	op.t.Helper()
	start := time.Now()
	if err := poll.For(limit, 5*time.Millisecond, func() error {
		if !bytes.Contains(op.logged(), []byte("msg=leading")) {
			return errors.New("does not lead")
		}
		return nil
	}); err != nil {
		op.t.Fatalf("%s after %s: %v", op.user, limit, err)
	}
	return time.Since(start)
}

// waitExit returns the error with which the operator exited on its own.
func (op *operator) waitExit(limit time.Duration) error {
	op.t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-op.exited:
		op.over = true
		return err
	case <-timer.C:
		op.t.Fatalf("still running after %s", limit)
		return nil
	}
}

// allWrites are all write requests of the two users, except those for the Lease, in order of arrival.
func allWrites(t *testing.T, since audit.Mark) []audit.Event {
	t.Helper()
	events, err := env.cluster.Audit().Since(since, func(e audit.Event) bool {
		return (e.User.Username == userA(t) || e.User.Username == userB(t)) && e.ObjectRef.Resource != "leases" &&
			!slices.Contains([]string{"get", "list", "watch"}, e.Verb)
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(events, func(a, b audit.Event) int { return a.Received.Compare(b.Received) })
	return events
}

// expectTurns expects the users to have written in turns of that order, without overlap.
func expectTurns(t *testing.T, since audit.Mark, want ...string) {
	t.Helper()
	if err := same("who wrote, in turns", want, turnsOf(t, since)); err != nil {
		t.Error(err)
	}
}

// turnsOf returns the writers, in turns. No turn may begin before the previous one has ended.
func turnsOf(t *testing.T, since audit.Mark) (turns []string) {
	t.Helper()
	events := allWrites(t, since)
	var ended time.Time // completion of the last request of the previous turns
	var last audit.Event
	for _, e := range events {
		if e.ResponseStatus.Code == http.StatusConflict {
			continue // no effect: its sender was frozen between its last check of the Lease and the request
		}
		if len(turns) == 0 || turns[len(turns)-1] != e.User.Username {
			turns = append(turns, e.User.Username)
			if e.Received.Before(ended) {
				t.Errorf("%s came in at %s, but %s was answered at %s only", e, e.Received, last, ended)
			}
		}
		// The handover write of a class counts when it is stored, which is before it is answered: the other operator
		// may already have observed it.
		if e.Reached.After(ended) && e.ObjectRef.Resource != controllers.Resource {
			ended, last = e.Reached, e
		}
	}
	t.Logf("%d writes: %v", len(events), tally(events))
	return turns
}

// traffic keeps changing the Things p-0 to p-(count-1) until stop is called.
func (s *scope) traffic(count int) (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	go func() {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for i := 0; ; i++ {
			patch := fmt.Appendf(nil, `{"spec":{"color":"c%d"}}`, i)
			_, err := s.things().Patch(ctx, fmt.Sprintf("p-%d", i%count), types.MergePatchType, patch, metav1.PatchOptions{})
			if ctx.Err() != nil {
				err = nil
			}
			select {
			case <-ctx.Done():
			case <-ticker.C:
				if err == nil {
					continue
				}
			}
			done <- err
			return
		}
	}()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("traffic: %v", err)
		}
	}
	s.t.Cleanup(stop)
	return stop
}

// waitInStep waits until each Thing is Ready and has a ConfigMap with its color.
func (s *scope) waitInStep(count int) {
	s.t.Helper()
	eventually(s.t, soon, func() error {
		colors := map[string]any{}
		for _, o := range s.list(s.in(configMaps), "templater.dev/controller=@id") {
			colors[o.GetName()], _, _ = unstructured.NestedString(o.Object, "data", "color")
		}
		want := map[string]any{}
		for _, o := range s.list(s.things(), "") {
			if err := ready(&o); err != nil {
				return err
			}
			want[o.GetName()], _, _ = unstructured.NestedString(o.Object, "spec", "color")
		}
		if len(want) != count {
			return fmt.Errorf("%d things, want %d", len(want), count)
		}
		return same("colors of the children", want, colors)
	})
}

// waitCounted waits until the TemplateController counts that many ready parents, so that its status is final.
func (s *scope) waitCounted(count int64) {
	s.t.Helper()
	s.waitController("@id", func(o *unstructured.Unstructured) error {
		total, _, _ := unstructured.NestedInt64(o.Object, "status", "parents", "ready")
		if total != count {
			return fmt.Errorf("%d parents are ready, want %d", total, count)
		}
		return nil
	})
}

// pair is a scope with two replicas.
type pair struct {
	*scope
	a, b  *operator                // a is the first leader
	start audit.Mark               // after b has joined
	lease *recorder                // since a is the leader
	first coordinationv1.LeaseSpec // the Lease at that time
}

// newPair starts two replicas, with a as leader, and waits until that many Things are up to date. Tests with a pair do not
// run in parallel with others: the API server must answer within the 10 seconds in which the Lease is renewed.
func newPair(t *testing.T, parents int) *pair {
	t.Helper()
	s := newSharedScope(t)
	a := s.replica(userA(t))
	a.waitLeading(soon)
	first, err := env.clientset.CoordinationV1().Leases(s.ns).Get(t.Context(), "templater-"+classOf(t), getOptions)
	if err != nil {
		t.Fatal(err)
	}
	lease := record(t, s.in(leases), "")
	p := &pair{scope: s, a: a, b: s.replica(userB(t)), start: mark(t), lease: lease, first: first.Spec}
	s.controller(oneConfigMap)
	s.manyThings(parents)
	s.waitInStep(parents)
	return p
}

// expectTakenOver expects everything to be up to date, and b to have begun to write after a ended.
func (p *pair) expectTakenOver(parents int) {
	p.t.Helper()
	p.waitInStep(parents)
	p.b.quiet(time.Second)
	expectTurns(p.t, p.start, userA(p.t), userB(p.t))
}

// failover stops one operator and returns how long it takes until the other is the leader.
func failover(from, to *operator) time.Duration {
	from.t.Helper()
	began := time.Now()
	from.Stop()
	to.waitLeading(soon)
	return time.Since(began)
}

func TestFailoverAfterCleanStop(t *testing.T) {
	needsAudit(t)
	const parents = 20
	s := newPair(t, parents)
	a, b := s.a, s.b
	s.waitCounted(parents)
	a.quiet(time.Second)

	quiet := mark(t)
	took := []time.Duration{failover(a, b)}
	t.Logf("quiet: b leads %s after the signal to a", took[0])
	b.quiet(2 * time.Second)
	if writes := allWrites(t, quiet); len(writes) > 0 {
		t.Errorf("taking over a quiet cluster made writes: %v", tally(writes))
	}
	expectTurns(t, s.start, userA(t))

	busy := mark(t)
	stop := s.traffic(parents)
	for range 2 {
		a = s.replica(userA(t))
		took = append(took, failover(b, a))
		b = s.replica(userB(t))
		took = append(took, failover(a, b))
	}
	t.Logf("with traffic: the other one leads after %s", took[1:])
	s.expectHolders(len(took), true)
	stop()
	s.waitInStep(parents)
	b.quiet(time.Second)
	expectTurns(t, busy, userB(t), userA(t), userB(t), userA(t), userB(t))
}

func TestFailoverAfterKill(t *testing.T) {
	needsAudit(t)
	const parents = 10
	s := newPair(t, parents)
	a, b := s.a, s.b
	stop := s.traffic(parents)
	eventually(t, soon, func() error { return wroteSince(t, s.start, userA(t), 2*parents) })
	began := time.Now()
	a.Kill()
	b.waitLeading(soon)
	t.Logf("b leads %s after a was killed", time.Since(began))
	s.expectHolders(1, false)
	stop()
	s.expectTakenOver(parents)
}

// wroteSince returns an error unless the user has made at least that many writes.
func wroteSince(t *testing.T, since audit.Mark, user string, count int) error {
	t.Helper()
	n := 0
	for _, e := range allWrites(t, since) {
		if e.User.Username == user {
			n++
		}
	}
	if n < count {
		return fmt.Errorf("%s has made %d writes, want %d", user, n, count)
	}
	return nil
}

func TestFrozenLeaderWritesNothingAfterResume(t *testing.T) {
	needsAudit(t)
	const parents = 10
	s := newPair(t, parents)
	a, b := s.a, s.b
	stop := s.traffic(parents)
	eventually(t, soon, func() error { return wroteSince(t, s.start, userA(t), 2*parents) })
	if err := a.command.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	b.waitLeading(soon)
	t.Logf("b leads %s after a was frozen", time.Since(began))
	woken := mark(t)
	eventually(t, soon, func() error { return wroteSince(t, woken, userB(t), 2*parents) })
	if err := a.command.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	if err := a.waitExit(soon); err == nil {
		t.Error("a ended well although it had lost the lease")
	}
	t.Logf("a ended %s after it woke up: %s", time.Since(began), bytes.TrimSpace(tail(a.logged(), 2)))
	t.Logf("a refused %d writes of its own", bytes.Count(a.logged(), []byte("not sent: this replica")))
	// The reason depends on whether a was frozen during a renewal, and on whether it reads the Lease before its renew
	// deadline expires.
	lost := "lost the lease " + s.ns + "/templater-" + classOf(t) + ": "
	reasons := []string{"another replica holds it", "it was not renewed for 10s, because", "renewal failed for 10s, last error: "}
	if !slices.ContainsFunc(reasons, func(reason string) bool { return bytes.Contains(a.logged(), []byte(lost+reason)) }) {
		t.Errorf("a does not say why it ended: %s", tail(a.logged(), 3))
	}
	stop()
	s.expectTakenOver(parents)
}

func TestLeaderThatCannotRenewExits(t *testing.T) {
	needsAudit(t)
	const parents = 10
	s := newPair(t, parents)
	a, b := s.a, s.b
	stop := s.traffic(parents)
	// It could write as before, except to the Lease.
	if err := env.clientset.RbacV1().RoleBindings(s.ns).Delete(t.Context(), userA(t), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := a.waitExit(soon); err == nil {
		t.Error("a ended well although it had lost the lease")
	}
	t.Logf("a ended after %s: %s", time.Since(began), bytes.TrimSpace(tail(a.logged(), 2)))
	if !bytes.Contains(a.logged(), []byte("renewal failed for 10s, last error: leases.coordination.k8s.io")) {
		t.Errorf("a does not say why it ended: %s", tail(a.logged(), 3))
	}
	b.waitLeading(soon)
	t.Logf("b leads after %s", time.Since(began))
	stop()
	s.expectTakenOver(parents)
}

// TestFailoverDuringRolloutWritesEachObjectOnce changes the template of 40 parents, and makes the other replica take
// over during the rollout, in both directions. If a replica has changed all of them before it stops, that proves
// nothing, and there is another round.
func TestFailoverDuringRolloutWritesEachObjectOnce(t *testing.T) {
	needsAudit(t)
	const parents = 40
	s := newPair(t, parents)
	s.controller(strings.Replace(oneConfigMap, "color: {{ .spec.color }}\n", "color: {{ .spec.color }}\n      round: '{{ .values.round }}'\n", 1) + "values: {round: none}\n")
	s.waitCounted(parents)
	s.a.quiet(2 * time.Second)
	op, other, users := s.a, s.b, []string{userA(t), userB(t)}
	const mostRounds = 10
	moved := map[string]bool{} // previous leaders of a Lease that changed hands during a rollout
	for round := 0; len(moved) < len(users); round++ {
		if round == mostRounds {
			t.Fatalf("in %d rounds, the Lease moved during a rollout only from %v", round, moved)
		}
		since := mark(t)
		s.patchController(fmt.Sprintf(`{"spec":{"values":{"round":%d}}}`, round))
		eventually(t, soon, func() error { return wroteSince(t, since, users[round%2], 10) })
		op.Stop()
		other.waitLeading(soon)
		eventually(t, soon, func() error {
			for _, o := range s.list(s.in(configMaps), "templater.dev/controller=@id") {
				got, _, _ := unstructured.NestedString(o.Object, "data", "round")
				if err := same("round of "+o.GetName(), fmt.Sprint(round), got); err != nil {
					return err
				}
			}
			return nil
		})
		other.quiet(time.Second)
		times := map[string]int{}
		for _, e := range allWrites(t, since) {
			if e.ObjectRef.Resource == configMaps.Resource && e.ResponseStatus.Code < 300 {
				times[e.ObjectRef.Name]++
			}
		}
		for name, count := range times {
			if count > 1 {
				t.Errorf("round %d: %d writes of %s", round, count, name)
			}
		}
		leader, next := users[round%2], users[(round+1)%2]
		turns := turnsOf(t, since)
		if len(turns) > 1 {
			moved[leader] = true
		}
		if !slices.Equal(turns, []string{leader, next}[:min(len(turns), 2)]) || len(turns) > 2 {
			t.Errorf("round %d: writers in order: %v, want %s, and then optionally %s", round, turns, leader, next)
		}
		op, other = other, s.replica(leader)
	}
}
