package watch

import "github.com/templater-dev/templater/internal/kube/object"

// goneSeals holds serials of the seals that a cache has ceased to show: because their object was deleted or has lost its label, or because
// an earlier seal was restored. The zero value holds none.
//
// An object without its label can get an earlier seal unseen. When it appears again, only the serial shows that. A list of all that have
// left would grow, and a list of some could be filled by somebody who has many children leave. So each share of the UIDs remembers the
// object that has left last, and of those before it the greatest serial alone. That is never less than their own, so an earlier seal is
// never believed. A seal that is issued later has a greater serial, be it by another replica, so new children are believed. An object that is
// not believed needlessly is sealed once more: because others have left in the meantime that have newer seals or forged ones.
type goneSeals [goneShares]goneShare

// goneShares limits how many objects somebody affects who forges the serial of one: one share of them.
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
			share.serial = share.others // its own may be among these
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
