package queue

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// OrphaningParents remembers parents that somebody has deleted without their dependents. Only a finalizer says so,
// which the garbage collector may have taken away by the next pass. It is safe for concurrent use.
type OrphaningParents struct {
	mu      sync.Mutex
	parents map[Key]types.UID
}

// NewOrphaningParents returns an OrphaningParents that knows of none.
func NewOrphaningParents() *OrphaningParents {
	return &OrphaningParents{parents: map[Key]types.UID{}}
}

// Note says that the parent of that UID is deleted without its dependents.
func (o *OrphaningParents) Note(key Key, parent types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.parents[key] = parent
}

// Has reports whether that was said of the parent of that UID.
func (o *OrphaningParents) Has(key Key, parent types.UID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	known, ok := o.parents[key]
	return ok && known == parent
}

// End forgets what was said of earlier parents of that name. There is the one that is there, "" if none is: a watch may have told of
// its deletion since the pass began that takes it for one that stays.
func (o *OrphaningParents) End(key Key, there types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.parents[key] != there {
		delete(o.parents, key)
	}
}

// ForgetController forgets about a controller that is gone.
func (o *OrphaningParents) ForgetController(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	DropController(o.parents, name)
}
