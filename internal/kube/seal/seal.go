// Package seal signs children: a seal is an annotation that only templater can write, because it
// needs a key. It proves that templater created the object.
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

	v1 "github.com/templater-dev/templater/api/v1"
)

// Subject is whose child an object is, and which object it is. A seal holds for one subject only.
type Subject struct {
	Definition Definition
	Parent     Parent
	Kind       schema.GroupKind
	Name       types.NamespacedName
}

// Definition is what made the object: its kind tells a TemplateController from other kinds of definitions with the same name.
type Definition struct {
	Kind string
	Name types.NamespacedName
}

// Parent is whom a child was made for. Both parts count: once a parent is gone, nothing else tells which name went with a UID.
type Parent struct {
	UID types.UID
	// Kind has no version. No format before 3 has it.
	Kind schema.GroupKind
	// Name may lack the namespace where that is the child's own.
	Name types.NamespacedName
}

// Note is what a seal records about its object. The seal is the only proof of it: annotations repeat it for readers.
type Note struct {
	// Entry is the entry of spec.children that the object was last marked for.
	Entry string
	// Hash is that of the content that was applied; empty means that nobody knows what the object was made from.
	Hash     string
	Policies Policies
	// Serial is greater than that of every earlier seal of the same object. It looks like a time in milliseconds and is none.
	Serial int64
	// Old is whether the seal is of an earlier format, which does not cover everything. Such a seal proves ownership alone; Hash and Policies are
	// empty.
	Old bool
}

// Policies are those of a child that decide about its deletion once its entry is gone. The zero value deletes.
type Policies struct {
	PruneOrphan    bool // the prunePolicy is Orphan
	DeletionOrphan bool // the deletionPolicy is Orphan
	Order          int  // level of the child where the children of a deleted parent are deleted in order
}

// Keep are the policies of a child about whose policies nothing is proven.
var Keep = Policies{PruneOrphan: true, DeletionOrphan: true}

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
	last  atomic.Int64 // see Serial
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

// Serial returns a serial for a seal that replaces one with the serial before, which must be of a valid seal; 0 is for none. Serials
// increase, so that each write has a seal of its own. They follow the clock, so that another process rarely repeats one; nothing
// depends on that clock.
func (r *Ring) Serial(now time.Time, before int64) int64 {
	for {
		last := r.last.Load()
		next := max(now.UnixMilli(), before+1, last+1)
		if r.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

// A seal is KEY:3:SERIAL:MAC:POLICIES:HASH:ENTRY; the serial is to base 36. In format 2 the MAC does not cover the parent's kind. Format 1 is
// KEY:TIME:MAC:ENTRY, without the rest: no time of an object is that of a version. All formats are pinned by tests, as a change would have
// all children sealed again.
const (
	separator = ':'
	macLength = 16 // bytes of HMAC-SHA256
	version   = "3"
	version2  = "2"
	domain    = "templater.dev/seal/3"
	domain2   = "templater.dev/seal/2"
	domain1   = "templater.dev/seal/1"

	flagPrune    = 'p'
	flagDeletion = 'd'
)

// append appends what a seal holds of the policies.
func (p Policies) append(out []byte) []byte {
	if p.PruneOrphan {
		out = append(out, flagPrune)
	}
	if p.DeletionOrphan {
		out = append(out, flagDeletion)
	}
	if p.Order != 0 {
		out = strconv.AppendInt(out, int64(p.Order), 10)
	}
	return out
}

// parsePolicies reads what append has written.
func parsePolicies(text string) (p Policies, ok bool) {
	text, p.PruneOrphan = strings.CutPrefix(text, string(flagPrune))
	text, p.DeletionOrphan = strings.CutPrefix(text, string(flagDeletion))
	if text == "" {
		return p, true
	}
	order, err := strconv.Atoi(text)
	p.Order = order
	return p, err == nil
}

// Seal returns the seal of a subject.
func (r *Ring) Seal(s Subject, n Note) string {
	k := r.keys.Load().newest()
	mac := k.sum(s, n, domain)
	out := make([]byte, 0, len(k.id)+len(n.Entry)+len(n.Hash)+48)
	out = append(append(out, k.id...), separator)
	out = append(append(out, version...), separator)
	out = append(strconv.AppendInt(out, n.Serial, 36), separator)
	out = append(base64.RawURLEncoding.AppendEncode(out, mac[:]), separator)
	out = append(n.Policies.append(out), separator)
	out = append(append(out, n.Hash...), separator)
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
	n, format, mac, ok := read(rest)
	if !ok || format == domain1 && s.Definition.Kind != v1.KindTemplateController { // which alone made seals of format 1
		return Note{}, Broken
	}
	want := k.sum(s, n, format)
	var buffer [24]byte
	given := base64.RawURLEncoding.AppendEncode(buffer[:0], want[:])
	if !hmac.Equal(given, []byte(mac)) {
		return Note{}, Broken
	}
	return n.proven(), Valid
}

// proven is the note without what its format does not prove.
func (n Note) proven() Note {
	if n.Old {
		n.Hash, n.Policies = "", Policies{}
	}
	return n
}

// Read returns what a seal says, and proves nothing: it is for one that was found to be Valid before.
func Read(text string) Note {
	_, rest, _ := strings.Cut(text, string(separator))
	n, _, _, _ := read(rest)
	return n.proven()
}

// KeyOutdated reports whether a seal is by an older key than the newest.
func (r *Ring) KeyOutdated(text string) bool {
	id := r.keys.Load().newest().id
	return len(text) <= len(id) || text[:len(id)] != id || text[len(id)] != separator
}

// read takes apart what follows the key in a seal. The domain tells the format.
func read(text string) (n Note, format, mac string, ok bool) {
	serial, rest, _ := strings.Cut(text, string(separator))
	switch format = domain1; serial {
	case version:
		format = domain
	case version2:
		format = domain2
	}
	n.Old = format != domain
	if format != domain1 {
		serial, rest, _ = strings.Cut(rest, string(separator))
	}
	var err error
	if n.Serial, err = strconv.ParseInt(serial, 36, 64); err != nil {
		return n, format, "", false
	}
	mac, rest, ok = strings.Cut(rest, string(separator))
	if format == domain1 || !ok {
		n.Entry = rest
		return n, format, mac, ok
	}
	policies, rest, _ := strings.Cut(rest, string(separator))
	if n.Policies, ok = parsePolicies(policies); !ok {
		return n, format, "", false
	}
	n.Hash, n.Entry, ok = strings.Cut(rest, string(separator))
	return n, format, mac, ok
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
func (k *key) sum(s Subject, n Note, format string) (mac [macLength]byte) {
	h := k.macs.Get().(*hasher) //nolint:forcetypeassert // the pool has no others
	defer k.macs.Put(h)
	h.text = s.append(h.text[:0], n, format)
	h.Reset()
	_, _ = h.Write(h.text) // never fails
	h.text = h.Sum(h.text[:0])
	copy(mac[:], h.text)
	return mac
}

// append appends what a MAC covers in a format.
func (s Subject) append(text []byte, n Note, format string) []byte {
	text = binary.BigEndian.AppendUint64(append(text, format...), uint64(n.Serial)) //nolint:gosec // any bits will do
	if format == domain1 {
		return s.append1(text, n)
	}
	if format == domain {
		text = appendPart(appendPart(text, s.Parent.Kind.Group), s.Parent.Kind.Kind)
	}
	var policies [16]byte
	text = appendPart(text, n.Policies.append(policies[:0]))
	for _, part := range [...]string{
		s.Definition.Kind, s.Definition.Name.Namespace, s.Definition.Name.Name, string(s.Parent.UID), s.away(), s.Parent.Name.Name,
		s.Kind.Group, s.Kind.Kind, s.Name.Namespace, s.Name.Name, n.Hash, n.Entry,
	} {
		text = appendPart(text, part)
	}
	return text
}

// append1 appends the parts of format 1.
func (s Subject) append1(text []byte, n Note) []byte {
	for _, part := range [...]string{
		s.Definition.Name.Name, string(s.Parent.UID), s.away(), s.Parent.Name.Name, s.Kind.Group, s.Kind.Kind, s.Name.Namespace, s.Name.Name, n.Entry,
	} {
		text = appendPart(text, part)
	}
	return text
}

// away is the namespace of the parent where it is not the object's own.
func (s Subject) away() string {
	if s.Parent.Name.Namespace == s.Name.Namespace {
		return ""
	}
	return s.Parent.Name.Namespace
}

func appendPart[T string | []byte](text []byte, part T) []byte {
	return append(binary.AppendUvarint(text, uint64(len(part))), part...)
}
