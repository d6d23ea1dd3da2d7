package revision

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
)

// Selection selects the parents that have a revision. The zero value selects none. It is immutable.
type Selection struct {
	salt      string
	canary    labels.Selector // nil = none
	threshold uint64          // the position of the last parent
	any, all  bool
}

// SelectedBy parses a ParentSelection. The order of the parents depends on salt.
func SelectedBy(salt string, a v1.ParentSelection) (Selection, error) {
	out := Selection{salt: salt, all: a.All, any: a.Threshold != ""}
	var err error
	if out.canary, err = canaries(a.Canary); err != nil || !out.any {
		return out, err
	}
	out.threshold, err = strconv.ParseUint(a.Threshold, 16, 64)
	return out, err
}

// canaries parses a canary selector; {} selects nothing.
func canaries(selector *metav1.LabelSelector) (labels.Selector, error) {
	if selector == nil || len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0 {
		return nil, nil //nolint:nilnil // none
	}
	return metav1.LabelSelectorAsSelector(selector)
}

// Has reports whether a parent has the revision.
func (a Selection) Has(uid types.UID, set labels.Labels) bool {
	return a.all || a.any && a.position(uid, set) <= a.threshold
}

// position returns the position of a parent in the order of a rollout: canaries are first, then a hash decides.
func (a Selection) position(uid types.UID, set labels.Labels) uint64 {
	sum := sha256.Sum256([]byte(a.salt + "/" + string(uid)))
	hash := binary.BigEndian.Uint64(sum[:8])
	if a.canary != nil && a.canary.Matches(set) {
		return hash &^ afterCanaries
	}
	return hash | afterCanaries
}

const (
	// afterCanaries is set in the positions of all parents except canaries.
	afterCanaries = 1 << 63
	// lastCanary is the greatest position of a canary.
	lastCanary = math.MaxInt64
)

// formatThreshold is the reverse of SelectedBy.
func formatThreshold(position uint64) string { return strconv.FormatUint(position, 16) }
