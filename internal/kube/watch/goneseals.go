package watch

import (
	"slices"
	"time"

	"github.com/templater-dev/templater/internal/kube/object"
)

// goneSeals stores serials of seals that are no longer in the cache, because the object was deleted or lost its label, or an
// earlier seal was restored. The zero value is empty.
//
// While an object lacks its label, an earlier seal can be restored unnoticed; when the object reappears, only the serial reveals
// this. An unbounded map would grow without limit, and a bounded one could be flushed by deleting many children. So UIDs are
// hashed to buckets. Each bucket has the serials of the objects that were removed last, and the greatest serial of those removed
// before. An earlier seal is always detected. A seal that was issued later has a greater serial, even if another replica issued
// it, unless the clock of that replica is behind. So an object that was created after all removed ones is not compared with them.
// A false positive costs one more seal, or Outdated if the values differ (Recreate).
type goneSeals struct{ buckets []goneBucket } // nil until an object is removed; then it has goneBuckets buckets

const (
	// goneBuckets is the number of buckets. A forged serial affects the objects of one bucket.
	goneBuckets = 64
	// goneExact is the number of objects per bucket that are stored individually.
	goneExact = 16
)

type goneBucket struct {
	last    []goneSeal // of the objects that were removed last, the latest at the end
	others  int64      // the greatest serial of the objects removed before
	created int64      // the latest creationTimestamp of all these objects, in Unix seconds
}

type goneSeal struct {
	uid    uint64 // hashed
	serial int64  // the greatest serial of this object
}

func (g *goneSeals) of(o *object.Object) (bucket *goneBucket, uid uint64) {
	uid = hashOf(string(o.UID()), "")
	return &g.buckets[uid>>1%goneBuckets], uid // hashOf always sets the lowest bit
}

// find returns the index of an object in last, or -1.
func (b *goneBucket) find(uid uint64) int {
	return slices.IndexFunc(b.last, func(s goneSeal) bool { return s.uid == uid })
}

// note records the last state of an object before it is removed from the cache, or replaced by a state with a restored seal.
func (g *goneSeals) note(last *object.Object) {
	if g.buckets == nil {
		g.buckets = make([]goneBucket, goneBuckets)
	}
	bucket, uid := g.of(last)
	seal := goneSeal{uid: uid, serial: last.Serial()}
	if i := bucket.find(uid); i >= 0 {
		seal.serial = max(seal.serial, bucket.last[i].serial)
		bucket.last = slices.Delete(bucket.last, i, i+1)
	} else if last.Noted(object.Restored) {
		seal.serial = max(seal.serial, bucket.others) // its previous serial may be among these
	}
	if len(bucket.last) == goneExact {
		bucket.others = max(bucket.others, bucket.last[0].serial)
		bucket.last = slices.Delete(bucket.last, 0, 1)
	}
	bucket.last = append(bucket.last, seal)
	bucket.created = max(bucket.created, created(last))
}

// created returns the creationTimestamp in Unix seconds, or 0 if it is missing.
func created(o *object.Object) int64 {
	at, err := time.Parse(time.RFC3339, o.Text("metadata", "creationTimestamp"))
	if err != nil {
		return 0
	}
	return at.Unix()
}

// judge notes object.Restored on a new object if its seal may have been restored. Writes of this process are not checked.
func (g *goneSeals) judge(o *object.Object) {
	if g.buckets == nil {
		return
	}
	bucket, uid := g.of(o)
	greatest, i := bucket.others, bucket.find(uid)
	if i >= 0 {
		greatest = bucket.last[i].serial
	}
	if greatest == 0 || o.Noted(object.OwnWrite) || o.Serial() >= greatest {
		return
	}
	if i < 0 && created(o) > bucket.created {
		return // it is not one of the removed objects
	}
	o.Note(object.Restored)
}

// NoteRestored notes object.Restored on an object that was read from the server because it is not in the cache, if its seal may
// have been restored.
func (c *objects) NoteRestored(o *object.Object) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	c.gone.judge(o)
}
