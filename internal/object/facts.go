package object

import v1 "github.com/templater-dev/templater/api/v1"

// Fact is something that was found out about an Object, and depends on the
// Object alone. It is noted there, so that it need not be found out again.
type Fact uint32

// The facts.
const (
	// Ready, NotReady and Failing: whether the object is ready, not yet, or hardly ever.
	Ready Fact = 1 << iota
	NotReady
	Failing
	// Covered: templater holds every field that it applied when it set the
	// hash that the object carries.
	Covered
	// Slim: the parts of a definition that nobody reads have been left out.
	Slim
)

// Noted reports whether the fact was noted.
func (o *Object) Noted(f Fact) bool { return Fact(o.noted.Load())&f != 0 }

// Note notes a fact.
func (o *Object) Note(f Fact) { o.noted.Or(uint32(f)) }

// Follow notes those facts that before, an earlier state of the same object,
// had and o must have, too. It is for o's first owner, who has shown it to nobody.
func (o *Object) Follow(before *Object) {
	if before.Noted(Covered) && before.ownership == o.ownership && before.Annotation(v1.AnnotationHash) == o.Annotation(v1.AnnotationHash) {
		o.Note(Covered)
	}
}
