package object

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
)

// Fact is a cached property of an Object that depends only on the Object.
type Fact uint32

// The facts.
const (
	// Ready, NotReady and Failing cache the readiness of the object.
	Ready Fact = 1 << iota
	NotReady
	Failing
	// Covered: templater owns all fields that it applied for the seal of the object, and no other client has changed their
	// values.
	Covered
	// Trimmed: unused parts were removed.
	Trimmed
	// Ours: a valid seal of this or an earlier state proves that templater created the object.
	Ours
	// Sealed: the seal is valid for the labels of the object and for the parent that it names.
	Sealed
	// OwnWrite: the object is the response to a write of this process.
	OwnWrite
	// Settled: see Settle.
	Settled
	// Restored: another client removed the seal or restored an earlier one. Its contents are not trusted.
	Restored
	// deleting: the object has a deletionTimestamp.
	deleting
)

// The upper half of noted is the round in which the object was found not to be ours, or settled: see Refuse and Settle.
const roundShift = 16

// Refuse records that the object was found not to be ours, with the keys of the round.
func (o *Object) Refuse(round uint32) {
	for {
		now := o.noted.Load()
		if o.noted.CompareAndSwap(now, now&(1<<roundShift-1)|round<<roundShift) {
			return
		}
	}
}

// Settle records that the seal needs no update with the keys of the round, and that the label and the annotations match it.
func (o *Object) Settle(round uint32) {
	for {
		now := o.noted.Load()
		if o.noted.CompareAndSwap(now, now&(1<<roundShift-1)|round<<roundShift|uint32(Settled)) {
			return
		}
	}
}

// Settled reports whether Settle was called for that round, and no seal was restored since.
func (o *Object) Settled(round uint32) bool {
	now := o.noted.Load()
	return round&(1<<roundShift-1) == now>>roundShift && Fact(now)&(Settled|Restored) == Settled
}

// Refused reports whether Refuse was called for that round. Rounds start at 1.
func (o *Object) Refused(round uint32) bool {
	now := o.noted.Load()
	return round&(1<<roundShift-1) == now>>roundShift && round != 0 && Fact(now)&Settled == 0
}

// Noted reports whether at least one of the facts was noted.
func (o *Object) Noted(f Fact) bool { return Fact(o.noted.Load())&f != 0 }

// Note records facts.
func (o *Object) Note(f Fact) { o.noted.Or(uint32(f)) }

// SetOwned records the hash of the values that templater owns: those in the response to an apply of this process, or those that
// were found to be as desired. 0 means unknown.
func (o *Object) SetOwned(hash uint32) { o.owned.Store(hash) }

// Owned returns the hash recorded by SetOwned for this object or an earlier state with the same seal, or 0 if it is unknown. If
// the values now have another hash, another client has changed them.
func (o *Object) Owned() uint32 { return o.owned.Load() }

// ParentAddress returns the value of AnnotationParent for a child of scope Cluster.
func ParentAddress(namespace, name string) string { return namespace + "/" + name }

// ParentName returns name and namespace of the parent that a child names. The name is "" if the child names none; the namespace
// is the child's own unless the child names another. They come from the owner reference, or from an annotation if there is no
// owner reference. Both strings keep the object's text in memory.
func (o *Object) ParentName() (namespace, name string) {
	if owner, ok := o.Controller(); ok {
		return o.Namespace(), owner.Name
	}
	text := o.Annotation(v1.AnnotationParent)
	if namespace, name, ok := strings.Cut(text, "/"); ok {
		return namespace, name
	}
	return o.Namespace(), text
}

// CrossScope reports whether a child says that it is of scope Cluster: it has no owner reference to its parent, but may be
// deleted with it.
func (o *Object) CrossScope() bool {
	if _, owned := o.Controller(); owned {
		return false
	}
	return strings.Contains(o.Annotation(v1.AnnotationParent), "/")
}

// CompareKeys compares by namespace and name in natural order, p-2 before p-10.
func CompareKeys(a, b types.NamespacedName) int {
	return cmp.Or(compareNatural(a.Namespace, b.Namespace), compareNatural(a.Name, b.Name))
}

// compareNatural compares runs of digits by their number, other text byte by byte.
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		x, restA := run(a)
		y, restB := run(b)
		if c := compareRuns(x, y); c != 0 {
			return c
		}
		a, b = restA, restB
	}
	return cmp.Compare(len(a), len(b))
}

// run splits off the leading run of digits, or of other characters.
func run(s string) (head, rest string) {
	i := 1
	for i < len(s) && digit(s[i]) == digit(s[0]) {
		i++
	}
	return s[:i], s[i:]
}

func compareRuns(a, b string) int {
	if !digit(a[0]) || !digit(b[0]) {
		return cmp.Compare(a, b)
	}
	x, y := strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y), cmp.Compare(a, b))
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
