package reconcile

import (
	"hash/maphash"
	"maps"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/loop"
)

// loop reports a parent that keeps being written to while nothing about it changes.
func (p *pass) loop() {
	if !p.suspect || !p.r.breaker.Tripped(p.key, p.specs()) {
		return
	}
	p.problems = append(p.problems, &problem.Problem{
		Reason: v1.ReasonLoopDetected, Retry: problem.RetrySlow,
		Message: "slowed down: " + p.rewrites.Advice(),
	})
}

// specs are what the pass works from.
func (p *pass) specs() loop.Specs {
	if p.parentSpec == 0 {
		p.parentSpec = p.parent.Generation()
	}
	if p.parentSpec == 0 { // ConfigMaps, Secrets and some more
		p.parentSpec = contentHash(p.content())
	}
	return loop.Specs{Parent: p.parentSpec, Controller: p.Generation}
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

var seed = maphash.MakeSeed()

// fingerprint differs for different states of the children.
func fingerprint(children []*child.Live) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, l := range children {
		_, _ = h.WriteString(string(l.Object.UID())) // a hash takes everything
		_ = h.WriteByte('@')
		_, _ = h.WriteString(l.Object.ResourceVersion())
		_ = h.WriteByte(' ')
	}
	return h.Sum64()
}
