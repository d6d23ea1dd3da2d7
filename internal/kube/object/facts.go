package object

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/seal"
)

// Fact is something that was found out about an Object, and depends on the
// Object alone. It is noted there, so that it need not be found out again.
type Fact uint32

// The facts.
const (
	// Ready, NotReady and Failing: whether the object is ready, not yet, or hardly ever.
	Ready Fact = 1 << iota
	NotReady
	Failing
	// Covered: templater owns every field that it applied for the seal of the object, and nobody has changed the values.
	Covered
	// Trimmed: the parts that nobody reads have been left out.
	Trimmed
	// Ours: templater has made the object, as its seal says, or that of an earlier state.
	Ours
	// Sealed: the seal of the object holds for what its labels say, and for the parent that it names.
	Sealed
	// OwnWrite: the object is what the server answered to a write of this process.
	OwnWrite
	// Settled: see Settle.
	Settled
	// Restored: somebody else has taken the seal away, or put an earlier one back. Nothing that it records counts.
	Restored
	// deleting: the object has a deletionTimestamp.
	deleting
)

// The upper half of what is noted is the round in which an object was found not to be ours: see Refuse.
const roundShift = 16

// Refuse notes that the object was found not to be ours, by the keys of that round.
func (o *Object) Refuse(round uint32) {
	for {
		now := o.noted.Load()
		if o.noted.CompareAndSwap(now, now&(1<<roundShift-1)|round<<roundShift) {
			return
		}
	}
}

// Settle notes that by the keys of that round there is nothing to do about the seal of the object, and that its label and its
// annotations agree with the seal.
func (o *Object) Settle(round uint32) {
	for {
		now := o.noted.Load()
		if o.noted.CompareAndSwap(now, now&(1<<roundShift-1)|round<<roundShift|uint32(Settled)) {
			return
		}
	}
}

// Settled reports whether that was noted in that round, and nobody has restored a seal since.
func (o *Object) Settled(round uint32) bool {
	now := o.noted.Load()
	return round&(1<<roundShift-1) == now>>roundShift && Fact(now)&(Settled|Restored) == Settled
}

// Refused reports whether the object was found not to be ours in that round; the first is 1.
func (o *Object) Refused(round uint32) bool {
	now := o.noted.Load()
	return round&(1<<roundShift-1) == now>>roundShift && round != 0 && Fact(now)&Settled == 0
}

// Noted reports whether the fact was noted.
func (o *Object) Noted(f Fact) bool { return Fact(o.noted.Load())&f != 0 }

// Note notes a fact.
func (o *Object) Note(f Fact) { o.noted.Or(uint32(f)) }

// SetOwned records a hash of the values that templater owns: those of the server's answer to an apply of this process, or those that
// were found to be as they should be. 0 is for none.
func (o *Object) SetOwned(hash uint32) { o.owned.Store(hash) }

// Owned returns what SetOwned has recorded of the object, or of an earlier state with the same seal: where the values have another hash,
// somebody else has changed them. It is 0 where nothing is known.
func (o *Object) Owned() uint32 { return o.owned.Load() }

// Follow notes those facts that before, an earlier state of the object of that name, had and o must have, too. It is
// for o's first owner, who has shown it to nobody, or for who knows that o came of before.
func (o *Object) Follow(before *Object) {
	if before.UID() != o.UID() {
		return
	}
	known := Fact(before.noted.Load())
	facts := o.provenance(before, known)
	if known&(Ours|Sealed) != 0 && o.sameParent(before) {
		facts |= known & Ours
		if o.sameSeal(before) && o.sameName(before) {
			facts |= known & Sealed
		}
	}
	o.Note(facts)
}

// provenance returns what follows for o about who has written it, from what was known of the state before. It takes over the hash of owned
// values under the same seal only: another seal is of a write that this process has not made, or has had no answer to. A seal that somebody
// else has changed counts only where it is newer than all before it.
func (o *Object) provenance(before *Object, known Fact) Fact {
	switch {
	case o.Noted(OwnWrite):
		return 0
	case o.sameSeal(before):
		o.SetOwned(before.Owned())
		if known&Covered != 0 && (o.Label(v1.LabelController) != before.Label(v1.LabelController) || !o.sameOwned(before)) {
			known &^= Covered
		}
		return known & (Covered | Restored)
	case known&Restored != 0 || o.Serial() < before.Serial():
		return Restored
	}
	return 0
}

// Serial is that of the seal, 0 where there is none. The seal may be anybody's.
func (o *Object) Serial() int64 { return seal.Read(o.Annotation(v1.AnnotationSeal)).Serial }

// Written takes note that o is the state that a write of this process has left, which after is, too.
func (o *Object) Written(after *Object) {
	o.noted.And(^uint32(Restored))
	o.Follow(after)
}

// sameParent reports whether both say that they were made for the same TemplateController and parent.
func (o *Object) sameParent(before *Object) bool {
	return o.text(o.labels) == before.text(before.labels) || o.Label(v1.LabelController) == before.Label(v1.LabelController) && o.Label(v1.LabelParentUID) == before.Label(v1.LabelParentUID)
}

// sameName reports whether both name the same parent.
func (o *Object) sameName(before *Object) bool {
	if o.text(o.annotations) == before.text(before.annotations) && o.text(o.owners) == before.text(before.owners) {
		return true
	}
	namespace, name := o.ParentName()
	namespaceBefore, nameBefore := before.ParentName()
	return name == nameBefore && namespace == namespaceBefore
}

// sameSeal reports whether both have the same seal.
func (o *Object) sameSeal(before *Object) bool {
	return o.text(o.annotations) == before.text(before.annotations) || o.Annotation(v1.AnnotationSeal) == before.Annotation(v1.AnnotationSeal)
}

// ParentAddress is what the annotation AnnotationParent of a child of scope Cluster holds.
func ParentAddress(namespace, name string) string { return namespace + "/" + name }

// ParentName returns the name of the parent that a child was made for, "" when the child does not say, and its namespace,
// which is the child's own unless the child says another. The owner reference tells, or, where there is none, an annotation. Both are
// parts of the object's text.
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

// CrossScope reports whether a child is of scope Cluster, as it says itself: no owner reference binds it to its parent,
// though it may go with it.
func (o *Object) CrossScope() bool {
	if _, owned := o.Controller(); owned {
		return false
	}
	return strings.Contains(o.Annotation(v1.AnnotationParent), "/")
}

// CompareKeys orders objects by namespace and name, p-2 before p-10.
func CompareKeys(a, b types.NamespacedName) int {
	return cmp.Or(compareNatural(a.Namespace, b.Namespace), compareNatural(a.Name, b.Name))
}

// compareNatural orders texts as people do: runs of digits by their number.
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

// run cuts off the leading run of digits, or of other characters.
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
