package revision

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
)

// mostCanaries is the maximum number of parents in ParentSelection.canaries.
const mostCanaries = 1000

// Selection selects the parents that have a revision. The zero value selects none. It is immutable.
type Selection struct {
	salt      string
	canaries  map[types.UID]bool
	threshold uint64 // the position of the last parent
	any, all  bool
}

// SelectedBy parses a ParentSelection. The positions of the parents depend on salt.
func SelectedBy(salt string, a v1.ParentSelection) (out Selection, err error) {
	out = Selection{salt: salt, all: a.All, any: a.Threshold != ""}
	for _, uid := range a.Canaries {
		if out.canaries == nil {
			out.canaries = make(map[types.UID]bool, len(a.Canaries))
		}
		out.canaries[uid] = true
	}
	if out.any {
		out.threshold, err = strconv.ParseUint(a.Threshold, 16, 64)
	}
	return out, err
}

// Has reports whether a parent has the revision.
func (a Selection) Has(uid types.UID) bool {
	return a.all || a.canaries[uid] || a.any && position(a.salt, uid) <= a.threshold
}

// position returns the position of a parent in the order of a rollout.
func position(salt string, uid types.UID) uint64 {
	sum := sha256.Sum256([]byte(salt + "/" + string(uid)))
	return binary.BigEndian.Uint64(sum[:8])
}

// union returns the parents that one of two selections with the same salt selects. With too many canaries, it selects all parents.
func union(a, b v1.ParentSelection) v1.ParentSelection {
	out := v1.ParentSelection{All: a.All || b.All, Threshold: a.Threshold}
	if cmp.Or(cmp.Compare(len(a.Threshold), len(b.Threshold)), cmp.Compare(a.Threshold, b.Threshold)) < 0 {
		out.Threshold = b.Threshold
	}
	out.Canaries = slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.Canaries, b.Canaries))))
	if len(out.Canaries) > mostCanaries {
		return v1.ParentSelection{All: true}
	}
	return out
}

// formatThreshold is the reverse of SelectedBy.
func formatThreshold(position uint64) string { return strconv.FormatUint(position, 16) }
