package reconcile

import (
	"hash/maphash"
	"maps"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/loop"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// loop reports a parent that keeps being written to while nothing about it changes.
func (rec *reconciliation) loop() {
	if !rec.suspect || !rec.r.Breaker.Tripped(rec.key, rec.specs()) {
		return
	}
	rec.problems = append(rec.problems, &problem.Problem{
		Reason: v1.ReasonLoopDetected, Retry: problem.RetrySlow,
		Message: "slowed down: " + rec.rewrites.Advice(),
	})
}

// specs are what the pass works from.
func (rec *reconciliation) specs() loop.Specs {
	if rec.parentSpec == 0 {
		rec.parentSpec = rec.parent.Generation()
	}
	if rec.parentSpec == 0 { // ConfigMaps, Secrets and some more
		rec.parentSpec = contentHash(rec.content())
	}
	return loop.Specs{Parent: rec.parentSpec, Controller: rec.Generation}
}

// contentHash differs for objects that differ outside of their metadata and status, which others than
// users write, too.
func contentHash(content map[string]any) int64 {
	content = maps.Clone(content)
	for _, field := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(content, field)
	}
	return int64(maphash.Bytes(seed, object.Append(nil, content))) //nolint:gosec // a hash may be negative
}

// wrote counts a pass that wrote, and reports whether it was one too many. What has changed of related objects and logs since the pass
// before calls for a write, as a change of the children does.
func (rec *reconciliation) wrote() bool {
	if !rec.written.Any() {
		return false
	}
	read := rec.fingerprintRelated()
	rec.written.Before ^= read
	rec.written.After ^= read
	return rec.r.Breaker.Wrote(rec.key, rec.specs(), rec.written)
}

// fingerprintRelated differs for different states of the related objects that templates have read, and of their logs. Objects whose
// status templater itself writes do not count: two such parents that read each other's could go on without an end.
func (rec *reconciliation) fingerprintRelated() uint64 {
	if len(rec.chosen) == 0 {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(seed)
	for _, c := range rec.chosen {
		for _, o := range c.objects {
			if !o.HasAppliedStatus() {
				addVersion(&h, o)
			}
		}
	}
	if rec.logs != nil {
		maphash.WriteComparable(&h, rec.logs.Version())
	}
	return h.Sum64()
}

var seed = maphash.MakeSeed()

// fingerprint differs for different states of the children.
func fingerprint(children []*child.Live) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, l := range children {
		addVersion(&h, l.Object)
	}
	return h.Sum64()
}

func addVersion(h *maphash.Hash, o *object.Object) {
	_, _ = h.WriteString(string(o.UID())) // a hash takes everything
	_ = h.WriteByte('@')
	_, _ = h.WriteString(o.ResourceVersion())
	_ = h.WriteByte(' ')
}
