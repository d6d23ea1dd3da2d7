package watch

import (
	"time"

	"github.com/templater-dev/templater/internal/kube/object"
)

// goneSeals holds serials of seals that are no longer in the cache: the object was deleted or lost its label, or an earlier seal was
// restored. The zero value is empty.
//
// While an object lacks its label, an earlier seal can be restored unnoticed; when it reappears, only its serial shows that. An unbounded map
// would grow, and a bounded one could be flushed by deleting many children. So UIDs are hashed to buckets: each keeps the serial of the object
// that left last, and the greatest serial of those before it. An earlier seal is always detected. A seal issued later has a greater serial, also
// if another replica issued it, unless its clock is behind. So an object that was created after all that left is not compared with them. A false
// positive costs one more seal, or Outdated if the values differ (Recreate).
type goneSeals [goneShares]goneShare

// goneShares is the number of buckets. A forged serial affects the objects of one bucket.
const goneShares = 64

type goneShare struct {
	uid     uint64 // a hash of that of the last object; 0 = none
	serial  int64  // the greatest of the last object
	others  int64  // the greatest of those before it
	created int64  // the latest creation of all of them, in seconds by the API server
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
	share.created = max(share.created, created(last))
}

// created returns when the API server created an object, in seconds; 0 if it does not say so.
func created(o *object.Object) int64 {
	at, err := time.Parse(time.RFC3339, o.Text("metadata", "creationTimestamp"))
	if err != nil {
		return 0
	}
	return at.Unix()
}

// judge notes on an object that appears, and is no write of this process, whether its seal counts as restored.
func (g *goneSeals) judge(o *object.Object) {
	share, uid := g.of(o)
	greatest := share.others
	if share.uid == uid {
		greatest = share.serial
	}
	if greatest == 0 || o.Noted(object.OwnWrite) || o.Serial() >= greatest {
		return
	}
	if share.uid != uid && created(o) > share.created {
		return // it is none of those that left
	}
	o.Note(object.Restored)
}

// NoteRestored notes on an object that was read from the server, because the cache does not show it, whether its seal counts as restored.
func (c *objects) NoteRestored(o *object.Object) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	c.gone.judge(o)
}
