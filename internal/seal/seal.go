// Package seal tells what templater has made from what somebody else has made to
// look like it: a seal is an annotation that only who holds the key can write.
package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Subject is whose child an object is, and which object it is. A seal holds for one subject only.
type Subject struct {
	Controller string
	Parent     Parent
	Kind       schema.GroupKind
	Name       types.NamespacedName
}

// Parent is whom a child was made for. Both parts count: once a parent is gone, nothing else tells which name went with a UID.
type Parent struct {
	UID types.UID
	// Name may lack the namespace where that is the child's own.
	Name types.NamespacedName
}

// Note is what a seal says besides.
type Note struct {
	// Entry is the entry of spec.children that the object was last marked for.
	Entry string
	// Applied is when the object was last applied, by the clock of who did so, to the millisecond.
	Applied time.Time
}

// Verdict is what there is to say of a seal.
type Verdict int

// The verdicts.
const (
	// Valid: templater has made the object.
	Valid Verdict = iota
	// None: there is no seal.
	None
	// Foreign: the key that it names is not known.
	Foreign
	// Broken: it is not for this object, or is no seal at all.
	Broken
)

// Ring holds the keys. The newest one seals, and all verify. The zero Ring has none: it is not to be used before
// Set. A Ring is safe for concurrent use.
type Ring struct {
	keys  atomic.Pointer[Keys]
	round atomic.Uint32
	last  atomic.Int64 // see Stamp
	ahead atomic.Int64 // see Calibrate; milliseconds
}

// Set has the ring use these keys, and reports whether they are others than before.
func (r *Ring) Set(keys *Keys) bool {
	if before := r.keys.Load(); before != nil && before.same(keys) {
		return false
	}
	r.keys.Store(keys)
	r.round.Add(1)
	return true
}

// Keys returns the keys, nil where there are none yet.
func (r *Ring) Keys() *Keys { return r.keys.Load() }

// Round counts how often the keys have changed.
func (r *Ring) Round() uint32 { return r.round.Load() }

// Since returns the time before which objects may have been made without a seal.
func (r *Ring) Since() time.Time {
	if k := r.keys.Load(); k != nil {
		return k.Since
	}
	return time.Time{}
}

// Stamp returns the time to note in a seal: now by the clock of the API server, to the millisecond, but later than all that it
// has returned before, so that each apply has a seal of its own.
func (r *Ring) Stamp(now time.Time) time.Time {
	for {
		last := r.last.Load()
		next := max(r.ServerTime(now).UnixMilli(), last+1)
		if r.last.CompareAndSwap(last, next) {
			return time.UnixMilli(next)
		}
	}
}

// ServerTime returns what the clock of the API server shows when that of this process shows now, in milliseconds: see Calibrate.
func (r *Ring) ServerTime(now time.Time) time.Time {
	return time.UnixMilli(now.UnixMilli() + r.ahead.Load())
}

// Tolerance is how far the time in a seal and that of the API server may be apart.
const Tolerance = 30 * time.Second

// Calibrate learns how far the clock of the API server is ahead of that of this process, from the time that was noted with an
// apply, and when the server says that it was.
func (r *Ring) Calibrate(noted, server time.Time) {
	const precision = 5 * time.Second // the server's is that of a second, and the request took its time
	if off := server.Sub(noted); !server.IsZero() && off.Abs() > precision {
		r.ahead.Add(off.Milliseconds())
		r.last.Store(0)
	}
}

// A seal is KEY:TIME:MAC:ENTRY; the time is in milliseconds, to base 36.
const (
	separator = ':'
	macLength = 16 // bytes of HMAC-SHA256
	domain    = "templater.dev/seal/1"
)

// Seal returns the seal of a subject.
func (r *Ring) Seal(s Subject, n Note) string {
	k := r.keys.Load().newest()
	at := n.Applied.UnixMilli()
	mac := k.sum(s, n.Entry, at)
	out := make([]byte, 0, len(k.id)+len(n.Entry)+40)
	out = append(append(out, k.id...), separator)
	out = append(strconv.AppendInt(out, at, 36), separator)
	out = append(base64.RawURLEncoding.AppendEncode(out, mac[:]), separator)
	return string(append(out, n.Entry...))
}

// Open returns what a seal says. The note is that of a Valid one.
func (r *Ring) Open(text string, s Subject) (Note, Verdict) {
	if text == "" {
		return Note{}, None
	}
	id, rest, _ := strings.Cut(text, string(separator))
	k := r.keys.Load().find(id)
	if k == nil {
		return Note{}, Foreign
	}
	n, mac, ok := read(rest)
	if !ok {
		return Note{}, Broken
	}
	want := k.sum(s, n.Entry, n.Applied.UnixMilli())
	var buffer [24]byte
	given := base64.RawURLEncoding.AppendEncode(buffer[:0], want[:])
	if !hmac.Equal(given, []byte(mac)) {
		return Note{}, Broken
	}
	return n, Valid
}

// Read returns what a seal says that was found to be Valid before.
func Read(text string) Note {
	_, rest, _ := strings.Cut(text, string(separator))
	n, _, _ := read(rest)
	return n
}

// KeyOutdated reports whether a seal is by an older key than the newest.
func (r *Ring) KeyOutdated(text string) bool {
	id := r.keys.Load().newest().id
	return len(text) <= len(id) || text[:len(id)] != id || text[len(id)] != separator
}

// read takes apart what follows the key in a seal.
func read(text string) (n Note, mac string, ok bool) {
	at, rest, _ := strings.Cut(text, string(separator))
	mac, n.Entry, ok = strings.Cut(rest, string(separator))
	ms, err := strconv.ParseInt(at, 36, 64)
	n.Applied = time.UnixMilli(ms)
	return n, mac, ok && err == nil
}

// key is one of the keys.
type key struct {
	id     string
	secret []byte
	macs   sync.Pool // of *hasher
}

// hasher is a hash in the making and room for its input.
type hasher struct {
	hash.Hash
	text []byte
}

func newKey(id string, secret []byte) *key {
	k := &key{id: id, secret: secret}
	k.macs.New = func() any { return &hasher{Hash: hmac.New(sha256.New, k.secret)} }
	return k
}

// sum returns the first bytes of the HMAC. Each part goes in with its length, so that no two subjects look alike.
func (k *key) sum(s Subject, entry string, at int64) (mac [macLength]byte) {
	h := k.macs.Get().(*hasher) //nolint:forcetypeassert // the pool has no others
	defer k.macs.Put(h)
	text := binary.BigEndian.AppendUint64(append(h.text[:0], domain...), uint64(at)) //nolint:gosec // any bits will do
	away := s.Parent.Name.Namespace
	if away == s.Name.Namespace {
		away = ""
	}
	for _, part := range [...]string{s.Controller, string(s.Parent.UID), away, s.Parent.Name.Name, s.Kind.Group, s.Kind.Kind, s.Name.Namespace, s.Name.Name, entry} {
		text = append(binary.AppendUvarint(text, uint64(len(part))), part...)
	}
	h.Reset()
	_, _ = h.Write(text) // never fails
	h.text = h.Sum(text[:0])
	copy(mac[:], h.text)
	return mac
}
