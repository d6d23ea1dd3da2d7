package reconcile

import (
	"fmt"

	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// state is whether an object is ready.
type state int

const (
	// stateComing is an object that is not ready yet.
	stateComing state = iota
	// stateReady is an object that is ready: it is as its spec says, and what it is to do is done.
	stateReady
	// stateFailing is an object that is not ready and will hardly become so by itself.
	stateFailing
)

// standing is the state of an object, and why it is not ready: in words of ours, with no text of the object but
// the reason word of a condition.
type standing struct {
	state state
	why   string // "" for one that is ready
}

// stateOf returns the state of a live object. One that is being deleted is not ready.
func stateOf(o *object.Object) state {
	switch {
	case o.Deleting():
		return stateComing
	case o.Noted(object.Ready):
		return stateReady
	case o.Noted(object.Failing):
		return stateFailing
	case o.Noted(object.NotReady):
		return stateComing
	}
	s := standingOf(o.Content()).state
	o.Note(map[state]object.Fact{stateReady: object.Ready, stateFailing: object.Failing, stateComing: object.NotReady}[s])
	return s
}

// readyContent is the same for the renderer.
func readyContent(content map[string]any) bool { return standingOf(content).state == stateReady }

// unready is a child that is wanted and not ready.
type unready struct {
	id     identity
	object *object.Object // nil while it is not there
}

// String says which child it is, and why it is not ready.
func (u unready) String() string {
	why := "not there yet"
	if u.object != nil {
		why = standingOf(u.object.Content()).why
	}
	return u.id.String() + ": " + why
}

// census is how the children that are wanted fare.
type census struct {
	ready, wanted   int
	failing, coming []unready // those that are not ready, in the order of the templates
}

// censusOf looks at the children that are wanted.
func censusOf(all []*wanted, observed []*live) census {
	there := make(map[identity]*object.Object, len(observed))
	for _, l := range observed {
		there[l.id()] = l.object
	}
	c := census{wanted: len(all)}
	for _, w := range all {
		u := unready{w.id(), there[w.id()]}
		s := stateComing
		if u.object != nil {
			s = stateOf(u.object)
		}
		switch s {
		case stateReady:
			c.ready++
		case stateFailing:
			c.failing = append(c.failing, u)
		case stateComing:
			c.coming = append(c.coming, u)
		}
	}
	return c
}

// progress says how many are ready, and which are not.
func (c census) progress() string {
	text := fmt.Sprintf("%d of %d children are ready", c.ready, c.wanted)
	if len(c.coming) > 0 {
		text += ": " + problem.JoinFunc(c.coming, unready.String)
	}
	return text
}

// failure says which have failed.
func (c census) failure() string {
	return fmt.Sprintf("%d of %d children have failed: ", len(c.failing), c.wanted) + problem.JoinFunc(c.failing, unready.String)
}
