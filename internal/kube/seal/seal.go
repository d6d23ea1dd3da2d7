// Package seal signs children. A seal is an annotation that only templater can write, because it needs a key. It proves that
// templater created the object.
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

// Subject identifies a child, the definition that created it, and its parent. A seal is valid for one subject only.
type Subject struct {
	Definition Definition
	Parent     Parent
	Kind       schema.GroupKind
	Name       types.NamespacedName
}

// Definition identifies the object that defines the child. Its kind distinguishes a TemplateController from definitions of other
// kinds with the same name.
type Definition struct {
	Kind string
	Name types.NamespacedName
}

// Parent identifies the parent of a child. The seal covers both UID and name, because nothing else maps the UID to the name once
// the parent is deleted.
type Parent struct {
	UID types.UID
	// Kind has no version. Formats before 3 do not include it.
	Kind schema.GroupKind
	// Name may have no namespace if it is the namespace of the child.
	Name types.NamespacedName
}

// Note is the data of a seal about its object. Only the seal proves this data: annotations repeat it for readers.
type Note struct {
	// Entry is the child template (spec.children[NAME]) that the object was last marked for.
	Entry string
	// Hash is the hash of the content that was applied. If it is empty, it is unknown from which content the object was created.
	Hash     string
	Policies Policies
	// Serial is greater than the serials of all earlier seals of the same object. It is derived from a millisecond timestamp, but
	// must not be used as a time.
	Serial int64
	// Old reports whether the seal has an earlier format, which does not cover everything. Such a seal proves ownership only;
	// Hash and Policies are empty.
	Old bool
}

// Policies determine whether and how a child is deleted once its child template is removed. The zero value deletes the child.
type Policies struct {
	PruneOrphan    bool // prunePolicy is Orphan
	DeletionOrphan bool // deletionPolicy is Orphan
	Order          int  // level of the child if the children of a deleted parent are deleted in order
}

// Keep are the policies of a child whose seal does not prove its policies.
var Keep = Policies{PruneOrphan: true, DeletionOrphan: true}

// Verdict is the result of verifying a seal.
type Verdict int

// The verdicts.
const (
	// Valid: the seal proves that templater created the object.
	Valid Verdict = iota
	// None: there is no seal.
	None
	// Foreign: the seal names an unknown key.
	Foreign
	// Broken: the seal is malformed, or not for this object.
	Broken
)

// Ring is a key ring. The newest key signs, all keys verify. Call Set before using the zero Ring. A Ring is safe for concurrent
// use.
type Ring struct {
	keys  atomic.Pointer[Keys]
	round atomic.Uint32
	last  atomic.Int64 // see Serial
}

// Set replaces the keys, and reports whether they have changed.
func (r *Ring) Set(keys *Keys) bool {
	if before := r.keys.Load(); before != nil && before.same(keys) {
		return false
	}
	r.keys.Store(keys)
	r.round.Add(1)
	return true
}

// Keys returns the keys, or nil before Set.
func (r *Ring) Keys() *Keys { return r.keys.Load() }

// Round returns the number of key changes.
func (r *Ring) Round() uint32 { return r.round.Load() }

// Since returns the time before which objects may have been created without a seal.
func (r *Ring) Since() time.Time {
	if k := r.keys.Load(); k != nil {
		return k.Since
	}
	return time.Time{}
}

// Serial returns a serial for a new seal. before is the serial of the valid seal that it replaces, or 0. Serials increase, so
// that each write has a different seal. They follow the clock, so that another process rarely uses the same one; correctness does
// not depend on the clock.
func (r *Ring) Serial(now time.Time, before int64) int64 {
	for {
		last := r.last.Load()
		next := max(now.UnixMilli(), before+1, last+1)
		if r.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

// A seal is KEY:3:SERIAL:MAC:POLICIES:HASH:ENTRY; the serial is in base 36. In format 2, the MAC does not cover the parent's
// kind. Format 1 is KEY:TIME:MAC:ENTRY; its time never equals a format version. Tests pin all formats, because after a change
// templater would seal all children again.
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

// append appends the policies in the format of a seal.
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

// parsePolicies parses the output of append.
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

// Open verifies a seal. It returns the note of a Valid seal, otherwise an empty one.
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
	if !ok || format == domain1 && s.Definition.Kind != v1.KindTemplateController { // only TemplateControllers have seals of format 1
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

// proven returns the note without the fields that its format does not prove.
func (n Note) proven() Note {
	if n.Old {
		n.Hash, n.Policies = "", Policies{}
	}
	return n
}

// Read parses a seal without verifying it. Use it only for seals that were found to be Valid before.
func Read(text string) Note {
	_, rest, _ := strings.Cut(text, string(separator))
	n, _, _, _ := read(rest)
	return n.proven()
}

// KeyOutdated reports whether a seal was not signed with the newest key.
func (r *Ring) KeyOutdated(text string) bool {
	id := r.keys.Load().newest().id
	return len(text) <= len(id) || text[:len(id)] != id || text[len(id)] != separator
}

// read parses the part of a seal after the key. format is the MAC domain of the seal's format.
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

// key is a key of a Ring.
type key struct {
	id     string
	secret []byte
	macs   sync.Pool // of *hasher
}

// hasher is a reusable hash with an input buffer.
type hasher struct {
	hash.Hash
	text []byte
}

func newKey(id string, secret []byte) *key {
	k := &key{id: id, secret: secret}
	k.macs.New = func() any { return &hasher{Hash: hmac.New(sha256.New, k.secret)} }
	return k
}

// sum returns the first bytes of the HMAC. The length of each part is included, so that different subjects have different inputs.
func (k *key) sum(s Subject, n Note, format string) (mac [macLength]byte) {
	h := k.macs.Get().(*hasher) //nolint:forcetypeassert // the pool contains only hashers
	defer k.macs.Put(h)
	h.text = s.append(h.text[:0], n, format)
	h.Reset()
	_, _ = h.Write(h.text) // never fails
	h.text = h.Sum(h.text[:0])
	copy(mac[:], h.text)
	return mac
}

// append appends the MAC input of a format.
func (s Subject) append(text []byte, n Note, format string) []byte {
	text = binary.BigEndian.AppendUint64(append(text, format...), uint64(n.Serial)) //nolint:gosec // all bits are kept
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

// away returns the namespace of the parent, or "" if it is the namespace of the object.
func (s Subject) away() string {
	if s.Parent.Name.Namespace == s.Name.Namespace {
		return ""
	}
	return s.Parent.Name.Namespace
}

func appendPart[T string | []byte](text []byte, part T) []byte {
	return append(binary.AppendUvarint(text, uint64(len(part))), part...)
}
