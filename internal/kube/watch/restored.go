package watch

import "github.com/templater-dev/templater/internal/kube/object"

// goneSeals holds serials of seals that are no longer in the cache: the object was deleted or lost its label, or an earlier seal was
// restored. The zero value is empty.
//
// While an object lacks its label, an earlier seal can be restored unnoticed; when it reappears, only its serial shows that. An unbounded map
// would grow, and a bounded one could be flushed by deleting many children. So UIDs are hashed to buckets: each keeps the serial of the object
// that left last, and the greatest serial of those before it. An earlier seal is always detected. A seal issued later has a greater serial, also
// if another replica issued it. A false positive costs one more seal, or Outdated if the values differ (Recreate).
type goneSeals [goneShares]goneShare

// goneShares is the number of buckets. A forged serial affects the objects of one bucket.
const goneShares = 64

type goneShare struct {
	uid    uint64 // a hash of that of the last object; 0 = none
	serial int64  // the greatest of the last object
	others int64  // the greatest of those before it
}

func (g *goneSeals) of(o *object.Object) (share *goneShare, uid uint64) {
	uid = hashOf(string(o.UID()), "")
	return &g[uid>>1%goneShares], uid // the lowest bit is always set
}

// note takes note of a state that the cache ceases to show.
func (g *goneSeals) note(last *object.Object) {
	share, uid := g.of(last)
	if share.uid != uid {
		*share = goneShare{uid: uid, others: max(share.others, share.serial)}
		if last.Noted(object.Restored) {
			share.serial = share.others // its own serial may be one of these
		}
	}
	share.serial = max(share.serial, last.Serial())
}

// judge notes on an object that appears, and is no write of this process, whether its seal counts as restored.
func (g *goneSeals) judge(o *object.Object) {
	share, uid := g.of(o)
	greatest := share.others
	if share.uid == uid {
		greatest = share.serial
	}
	if greatest > 0 && !o.Noted(object.OwnWrite) && o.Serial() < greatest {
		o.Note(object.Restored)
	}
}

// NoteRestored notes on an object that was read from the server, because the cache does not show it, whether its seal counts as restored.
func (c *Cache) NoteRestored(o *object.Object) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	c.gone.judge(o)
}
