package e2e

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAttacksDoNotExhaustStandbyMemory has two replicas with the memory that templater is shipped with, which find
// TemplateControllers that need too much at startup, while clients without credentials send both of them the worst
// reviews. The leader is killed, and its replacement finds the same.
func TestAttacksDoNotExhaustStandbyMemory(t *testing.T) {
	parallel(t)
	const parents = 5
	a := newAsked(t)
	goLimit, limit := shippedMemory(t)
	start := func(address int, user string) *operator {
		return startOperatorIn(t, []string{"GOMEMLIMIT=" + goLimit}, user, "--leader-elect-resource-namespace", a.ns, "--webhook-bind-address", a.addresses[address], "--webhook-namespace", a.ns)
	}
	for _, o := range a.largeDefinitions() { // no webhook is running to reject them
		if err := a.applyObject(o); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	reviews := []*attack{newAttack(ctx, a.url(0), worstReviews(t)), newAttack(ctx, a.url(1), worstReviews(t))}
	defer func() { stop(); reviews[0].done.Wait(); reviews[1].done.Wait() }()
	leader := start(0, userA(t))
	leader.waitLeading(soon)
	standby := start(1, userB(t))
	n := newNeighbor(a.scope)
	before := a.verdicts()
	waits := n.waits(parents)
	eventually(t, soon, func() error {
		if text, enough := reviews[1].tally(3); !enough {
			return errors.New("the standby has answered reviews only so often: " + text)
		}
		return nil
	})
	leader.withinMemory(limit)
	standby.withinMemory(limit)

	leader.Kill()
	began := time.Now()
	next := start(0, userA(t))
	eventually(t, soon, func() error {
		for _, op := range []*operator{standby, next} {
			if bytes.Contains(op.logged(), []byte("msg=leading")) {
				return nil
			}
		}
		return errors.New("neither replica leads")
	})
	t.Logf("a neighbor's parents wait %v; another replica leads %s after the leader was killed, and they wait %v", waits, time.Since(began), n.waits(parents))
	if diff := cmp.Diff(before, a.verdicts()); diff != "" {
		t.Errorf("the verdicts of another replica (-before +after):\n%s", diff)
	}
	standby.withinMemory(limit)
	next.withinMemory(limit)
	stop()
	for i, r := range reviews {
		r.done.Wait()
		text, _ := r.tally(1)
		t.Logf("the reviews at address %d were answered %s", i, text)
	}
	for _, op := range []*operator{standby, next} {
		select {
		case err := <-op.exited:
			op.over = true
			t.Errorf("a replica has ended: %v", err)
		default:
		}
	}
}
