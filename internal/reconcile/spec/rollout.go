package spec

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/finding"
)

// Rolls reports whether the objects of an entry are changed a few at a time.
func Rolls(entry *v1.Child) bool { return entry.UpdateStrategy.RollingUpdate != nil }

// MostUnavailable returns how many of that many objects may be unavailable while others are still out of date: at least one.
func MostUnavailable(r *v1.RollingUpdate, objects int) int {
	most, percent, _ := readMost(r)
	if percent {
		most = objects * most / 100
	}
	return max(1, most)
}

// mostObjects is the largest number that maxUnavailable may be: as many objects as an entry can have.
const mostObjects = 2000

// readMost reads maxUnavailable. It answers false where that is neither a number of objects nor a percentage.
func readMost(r *v1.RollingUpdate) (most int, percent, ok bool) {
	if r.MaxUnavailable == nil {
		return 1, false, true
	}
	text := r.MaxUnavailable.String()
	number, percent := strings.CutSuffix(text, "%")
	most, _ = strconv.Atoi(number) // which is out of bounds where this is no number
	bound := mostObjects
	if percent {
		bound = 100
	}
	ok = most >= 1 && most <= bound && strconv.Itoa(most) == number && percent == (r.MaxUnavailable.Type == intstr.String)
	return most, percent, ok
}

// checkRollouts says which entries cannot be rolled out as they say, or returns nil.
func (l list) checkRollouts(children []v1.Child) *Rejection {
	var all faults
	for _, entry := range children {
		u := entry.UpdateStrategy
		if u.RollingUpdate == nil {
			continue
		}
		if u.Type == v1.UpdateCreateOnly || u.Type == v1.UpdateOnDelete {
			all.add(wrong(finding.UpdateStrategy, l.entry(entry.Name)+".updateStrategy", "rollingUpdate needs type Apply or Recreate: with CreateOnly and OnDelete, templater updates no object"))
			continue
		}
		if _, _, ok := readMost(u.RollingUpdate); !ok {
			all.add(wrong(finding.UpdateStrategy, l.entry(entry.Name)+".updateStrategy.rollingUpdate.maxUnavailable", "write a number of objects from 1 to 2000, or a percentage from 1%% to 100%%"))
		}
	}
	return all.joined()
}
