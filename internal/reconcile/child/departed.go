package child

import (
	"hash/maphash"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
)

// Departed remembers objects of ours that a watch has ceased to show: one that has lost all that we mark it with is ours still. It
// has room for some, and holds no text. It is safe for concurrent use.
type Departed struct {
	hashes [departures]atomic.Uint64
}

const departures = 1024

var departedSeed = maphash.MakeSeed()

// Note remembers an object that a watch has ceased to show, if it was ours.
func (d *Departed) Note(last *object.Object) {
	if last.Noted(object.Ours) {
		d.note(last.Label(v1.LabelController), types.UID(last.Label(v1.LabelParentUID)), last.UID())
	}
}

func (d *Departed) note(controller string, parent, child types.UID) {
	h := departedHash(controller, parent, child)
	d.hashes[h%departures].Store(h)
}

func (d *Departed) has(controller string, parent, child types.UID) bool {
	h := departedHash(controller, parent, child)
	return d.hashes[h%departures].Load() == h
}

// departedHash is never 0. Nobody else knows the seed, and the server chooses UIDs.
func departedHash(controller string, parent, child types.UID) uint64 {
	return maphash.Comparable(departedSeed, [3]string{controller, string(parent), string(child)}) | 1
}
