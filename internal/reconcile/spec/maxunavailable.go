package spec

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/finding"
)

// Rolls reports whether a child template has rolling updates.
func Rolls(entry *v1.Child) bool { return entry.UpdateStrategy.RollingUpdate != nil }

// MaxUnavailable returns how many of the objects may be unavailable while others are outdated. It is at least 1.
func MaxUnavailable(r *v1.RollingUpdate, objects int) int {
	most, percent, _ := readMost(r)
	if percent {
		most = objects * most / 100
	}
	return max(1, most)
}

// mostObjects is the maximum of maxUnavailable as a number: the maximum number of objects of a child template.
const mostObjects = 2000

// readMost parses maxUnavailable. ok is false if it is neither a valid number of objects nor a valid percentage.
func readMost(r *v1.RollingUpdate) (most int, percent, ok bool) {
	if r.MaxUnavailable == nil {
		return 1, false, true
	}
	text := r.MaxUnavailable.String()
	number, percent := strings.CutSuffix(text, "%")
	most, _ = strconv.Atoi(number) // 0 or out of bounds if this is not a number
	bound := mostObjects
	if percent {
		bound = 100
	}
	ok = most >= 1 && most <= bound && strconv.Itoa(most) == number && percent == (r.MaxUnavailable.Type == intstr.String)
	return most, percent, ok
}

// checkRollouts returns a rejection of invalid rollingUpdate settings, or nil.
func (l list) checkRollouts(children []v1.Child) *Rejection {
	var all faults
	for _, entry := range children {
		u := entry.UpdateStrategy
		if u.OnImmutable == v1.OnImmutableRecreate && u.Type != "" && u.Type != v1.UpdateApply {
			all.add(wrong(finding.UpdateStrategy, l.entry(entry.Name)+".updateStrategy", "onImmutable: Recreate requires type Apply: the other types update no objects in place"))
		}
		if u.RollingUpdate == nil {
			continue
		}
		if u.Type == v1.UpdateCreateOnly || u.Type == v1.UpdateOnDelete {
			all.add(wrong(finding.UpdateStrategy, l.entry(entry.Name)+".updateStrategy", "rollingUpdate requires type Apply or Recreate: CreateOnly and OnDelete never update objects"))
			continue
		}
		if _, _, ok := readMost(u.RollingUpdate); !ok {
			all.add(wrong(finding.UpdateStrategy, l.entry(entry.Name)+".updateStrategy.rollingUpdate.maxUnavailable", "must be a number from 1 to 2000, or a percentage from 1%% to 100%%"))
		}
	}
	return all.joined()
}
