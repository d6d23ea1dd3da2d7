package e2e

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// expectHolders waits until the Lease has that many transitions, and expects each holder to have acquired it after the
// previous one released it, or else after it expired.
func (p *pair) expectHolders(changes int, released bool) {
	p.t.Helper()
	var all []coordinationv1.LeaseSpec // the last state of each holder; empty if none
	eventually(p.t, soon, func() error {
		all = p.leaseHolders()
		taken := slices.DeleteFunc(slices.Clone(all), nobodys)
		return same("holders of the Lease", changes+1, len(taken))
	})
	for i, spec := range all[1:] {
		before := all[i]
		over := before.RenewTime.Add(time.Duration(*before.LeaseDurationSeconds) * time.Second)
		switch {
		case nobodys(spec):
		case released != nobodys(before):
			p.t.Errorf("holder %d: the Lease was released before: %v, want %v", i+1, nobodys(before), released)
		case !released && spec.AcquireTime.Time.Before(over):
			p.t.Errorf("holder %d took the Lease at %s, which was held until %s", i+1, spec.AcquireTime, over)
		}
	}
}

func nobodys(spec coordinationv1.LeaseSpec) bool { return holderOf(spec) == "" }

func holderOf(spec coordinationv1.LeaseSpec) string {
	if spec.HolderIdentity == nil {
		return ""
	}
	return *spec.HolderIdentity
}

// leaseHolders returns the last known state of each holder of the Lease, in order.
func (p *pair) leaseHolders() []coordinationv1.LeaseSpec {
	p.t.Helper()
	all := []coordinationv1.LeaseSpec{p.first}
	for _, event := range p.lease.all() {
		o, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			p.t.Fatalf("the watch of the Lease has ended: %v", event)
		}
		lease := &coordinationv1.Lease{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, lease); err != nil {
			p.t.Fatal(err)
		}
		if holderOf(all[len(all)-1]) != holderOf(lease.Spec) {
			all = append(all, lease.Spec)
		}
		all[len(all)-1] = lease.Spec
	}
	return all
}
