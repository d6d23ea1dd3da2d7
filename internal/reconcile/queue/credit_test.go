package queue

import (
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/templater-dev/templater/api/v1"
)

func TestTenantOfController(t *testing.T) {
	all := NewTenants()
	for _, step := range []struct {
		why, want string
		known     bool
		do        func()
	}{
		{"nothing is known of it", "a", false, func() {}},
		{"it names no account", "a", true, func() { all.Set("a", nil) }},
		{"it names one", "namespace:team", true, func() { all.Set("a", &v1.ServiceAccountRef{Namespace: "team", Name: "robot"}) }},
		{"it names none any more", "a", true, func() { all.Set("a", nil) }},
		{"it is gone", "a", false, func() { all.ForgetController("a") }},
	} {
		step.do()
		if got, known := all.Of("a"); got != step.want || known != step.known {
			t.Errorf("%s: %q, known %v, want %q, %v", step.why, got, known, step.want, step.known)
		}
	}
}

// newCredit returns a Credit for rollouts with two concurrent requests, its clock, and two tenants.
func newCredit(t *testing.T) (*Credit, *clocktesting.FakePassiveClock, *Tenants) {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	tenants := NewTenants()
	for _, name := range []string{"a-1", "a-2"} {
		tenants.Set(name, &v1.ServiceAccountRef{Namespace: "a", Name: name})
	}
	tenants.Set("b", nil)
	return NewCredit(clock, 2, tenants), clock, tenants
}

func TestTenantHasNoCreditUntilDebtIsRepaid(t *testing.T) {
	credit, clock, _ := newCredit(t)
	for _, step := range []struct {
		why  string
		cost time.Duration
		wait time.Duration
		over bool
	}{
		{"nothing was asked for", 0, 0, false},
		{"it costs all of the credit", creditLimit, 0, false},
		{"it costs more", time.Second, 0, true},
		{"a half is paid back", 0, creditLimit / 4, true},
		{"all but a little", 0, creditLimit / 4, true},
		{"all", 0, time.Second, false},
		{"what costs as much as a rollout pays for itself", 2 * time.Hour, time.Hour, false},
		{"a debt has an end", 2 * time.Hour, 0, true},
		{"so that it is paid back before long", 0, creditLimit + time.Second, false},
	} {
		for range 3600 { // in small steps
			credit.Charge("a-1", step.cost/3600)
			credit.Charge("b", 0)
			clock.SetTime(clock.Now().Add(step.wait / 3600))
		}
		if got := credit.Over("a-2"); got != step.over {
			t.Errorf("%s: over its credit %v, want %v", step.why, got, step.over)
		}
		if credit.Over("b") {
			t.Errorf("%s: another tenant pays for it", step.why)
		}
	}
	credit.Charge("c", time.Second)
	if n := len(credit.debts); n != 1 {
		t.Errorf("%d debts are kept, want only what is owed", n)
	}
}

func TestTenantWithoutCreditWaitsOnlyForOtherTenants(t *testing.T) {
	for _, row := range []struct {
		why    string
		others []string      // tenants that make requests, one after the other
		ago    time.Duration // time since the last of these requests
		over   bool
	}{
		{"nobody else", nil, 0, false},
		{"itself, while it had credit", []string{"a-2"}, 0, false},
		{"another one", []string{"b"}, 0, true},
		{"another one, before its own", []string{"b", "a-1"}, 0, true},
		{"another one, a while ago", []string{"b"}, recentWindow - 1, true},
		{"another one, long ago", []string{"b"}, recentWindow, false},
		{"one that has no credit either", []string{"c"}, 0, false},
		{"one that has none, and one that has", []string{"c", "b", "c"}, 0, true},
	} {
		credit, clock, tenants := newCredit(t)
		tenants.Set("c", nil)
		credit.Charge("c", 2*creditLimit)
		for _, who := range row.others {
			credit.Charge(who, time.Millisecond)
		}
		credit.Charge("a-1", 2*creditLimit)
		clock.SetTime(clock.Now().Add(row.ago))
		if got := credit.Over("a-1"); got != row.over {
			t.Errorf("beside %s: over its credit %v, want %v", row.why, got, row.over)
		}
	}
}

func TestTenantOverCreditGetsFewReconciliations(t *testing.T) {
	credit, clock, tenants := newCredit(t)
	turns := NewFairQueue(8, tenants, credit)
	queue, _ := New(nil, turns)
	t.Cleanup(queue.ShutDown)
	q := &inTurn{queue, turns, t}
	q.add(manyKeys("a-1", 4)...)
	q.begin("on credit", "a-1/0", "a-1/1", "a-1/2", "a-1/3")
	credit.Charge("a-1", 2*creditLimit)
	credit.Charge("b", time.Millisecond)
	q.add(manyKeys("a-2", 9)...)
	q.begin("it has more than enough under way")
	q.add(manyKeys("b", 3)...)
	q.begin("another tenant has what it wants", "b/0", "b/1", "b/2")
	q.end("a-1", "0", "1", "2")
	q.begin("one is as many as it may have")
	q.Hangs(keyOf("a-1", "3"))
	q.begin("that hangs, and does not count", "a-2/0")
	for i := range 3 { // up to the limit of hanging reconciliations
		q.Hangs(keyOf("a-2", fmt.Sprint(i)))
		if i < 2 {
			q.begin("as long as there is no crowd", "a-2/"+fmt.Sprint(i+1))
		}
	}
	q.begin("in a crowd")
	q.add(keyOf("a-1", "9"))
	q.end("a-1", "3")
	q.begin("after one of them", "a-1/9")
	q.end("a-1", "9")
	q.end("a-2", "0", "1", "2")
	q.begin("none of them hangs", "a-2/3")
	clock.SetTime(clock.Now().Add(creditLimit))
	q.end("b", "0", "1", "2")
	q.begin("all is paid back", "a-2/4", "a-2/5", "a-2/6", "a-2/7", "a-2/8")
	q.end("a-2", "3", "4", "5", "6", "7", "8")
	q.expectIdle()
}
