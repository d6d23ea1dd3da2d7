package model

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Verb says what an action does.
type Verb string

// What users and strangers do.
const (
	SetParent     Verb = "set parent"     // create or change it
	DeleteParent  Verb = "delete parent"  // Hard: foreground
	OrphanParent  Verb = "orphan parent"  // delete it, but not its children, and these when it is gone
	SkipParent    Verb = "skip parent"    // delete it, and have it go at once, whatever was to happen before
	ReplaceParent Verb = "replace parent" // delete it and create it anew at once
	OrphanEdited  Verb = "orphan edited"  // edit several and delete them, but not their children, at the same moment
	BlockParent   Verb = "block parent"   // delete it, and what it waits for has no end before somebody makes one. Hard: by the annotation
	Deprive       Verb = "deprive"        // take a right away until a parent says that it is missing, which is edited, or deleted
	SuspendParent Verb = "suspend parent" // delete it while its TemplateController is suspended, for longer than spec.finalize.timeout

	SetController     Verb = "set controller"
	RemoveController  Verb = "remove controller"
	ReplaceController Verb = "replace controller" // delete it and create it anew; children are orphans meanwhile
	WipeController    Verb = "wipe controller"    // take its status away, as a backup that is restored without
	ReplaceKind       Verb = "replace kind"       // delete the definition and create it anew, without parents
	UnserveKind       Verb = "unserve kind"       // for a while; the objects stay. Hard: an operator is killed meanwhile
	MoveEngines       Verb = "move engines"       // create or change many parents at once
	SetSource         Verb = "set source"         // create or change what parents are related to
	DeleteSource      Verb = "delete source"
	SetPod            Verb = "set pod" // have it run, in the place of an earlier one; Text is its log
	DeletePod         Verb = "delete pod"
	RemoveParts       Verb = "remove parts" // the definition of a kind of children
	DefineParts       Verb = "define parts" //
	OpenNamespace     Verb = "open namespace"
	CloseNamespace    Verb = "close namespace"

	EditChild     Verb = "edit child"       // change what the template sets
	StripChild    Verb = "strip child"      // remove what the template sets
	UnlabelChild  Verb = "unlabel child"    // remove the label that watches select by
	RelabelChild  Verb = "relabel child"    // give it to another TemplateController
	StripMarks    Verb = "strip marks"      // remove the annotations that templater sets, but for the seal
	ForgeMarks    Verb = "forge marks"      // replace these
	UnsealChild   Verb = "unseal child"     // remove the seal, and delete the child a while later
	DeleteChild   Verb = "delete child"     //
	PutForeign    Verb = "put foreign"      // an object of a child's name
	RemoveForeign Verb = "remove foreign"   //
	AddToChild    Verb = "add to the child" // a field that no template sets
	HoldChild     Verb = "hold child"       // a finalizer that goes after a while
	SpoilStatus   Verb = "spoil status"     // of a parent: overwrite what the template sets
	StripStatus   Verb = "strip status"     // remove all of it
	NoteStatus    Verb = "note in status"   // a field and a condition of its own
)

// What breaks.
const (
	KillOperator   Verb = "kill operator"
	StopOperator   Verb = "stop operator"   // with SIGTERM
	FreezeOperator Verb = "freeze operator" // with SIGSTOP, until SIGCONT
	KillAPIServer  Verb = "kill kube-apiserver"
	KillEtcd       Verb = "kill etcd"
	Cut            Verb = "cut connections"
	Stall          Verb = "stall connections"
	Answer429      Verb = "answer 429"
	Answer500      Verb = "answer 500"
	DropAnswers    Verb = "drop answers" // of writes that the server has carried out
	SlowAnswers    Verb = "slow answers"
	LateAnswers    Verb = "late answers"
	ShiftDates     Verb = "shift dates"    // of the server's answers
	JumpClock      Verb = "jump clock"     // of the operator, and back
	Watches403     Verb = "refuse watches" // of one resource
	Watches500     Verb = "fail watches"   // of one resource
	Watches410     Verb = "expire watches" // of one resource
	HoldWatches    Verb = "hold watches"   // of one resource: new ones begin, and bring nothing for a while
	CompactEtcd    Verb = "compact etcd"   // and kill kube-apiserver, so that old versions are gone
	WithdrawRight  Verb = "withdraw right" // from the operators
	FailLogs       Verb = "fail logs"      // of Pods
)

// Faults are the verbs of what breaks.
var Faults = []Verb{KillOperator, StopOperator, FreezeOperator, KillAPIServer, KillEtcd, Cut, Stall, Answer429, Answer500, DropAnswers, SlowAnswers, LateAnswers, ShiftDates, JumpClock, Watches403, Watches500, Watches410, HoldWatches, CompactEtcd, WithdrawRight, FailLogs}

// Guise is how much a stranger's object looks like a child.
type Guise string

// The guises. Each has what the one before it has.
const (
	Plain     Guise = "plain"
	Labelled  Guise = "with a child's labels"
	CoOwned   Guise = "with the parent as an owner" // though not as its controller
	Bereft    Guise = "with a parent that is gone"  // as its controller; the garbage collector takes it
	Identical Guise = "with the parent as its controller, and a copy of a child's annotations"
)

// Guises are all of them.
var Guises = []Guise{Plain, Labelled, CoOwned, Bereft, Identical}

// Action is one thing that happens in a round.
type Action struct {
	Verb       Verb
	After      time.Duration // since the action before it
	For        time.Duration // of a fault; of OrphanEdited, between the edit and the deletion
	Offset     time.Duration // of a clock
	Replica    int           // of the operator, that a fault is for, from 1; 0 = all
	ID         ParentID      // of parents; Kind alone for ReplaceKind
	Parent     Parent
	Shape      string // of TemplateControllers
	Controller Controller
	Child      ChildID
	Source     Source              // of SetSource
	Text       string              // of SetPod
	Guise      Guise               // of PutForeign
	Parents    map[ParentID]Parent // of MoveEngines and OrphanEdited
	Stay       map[ChildID]bool    // of OrphanEdited: the children that nothing has replaced
	Held       bool                // of BlockParent: somebody holds a child; else an object never becomes ready
	Right      Right               // of Deprive and WithdrawRight
	Edited     Parent              // of Deprive: what Parent becomes meanwhile
	Resource   string              // whose watches a fault is for
	Namespace  string
	Hard       bool // see the verbs
}

// String tells the action in one line.
func (a Action) String() string {
	text := fmt.Sprintf("+%dms %s", a.After.Milliseconds(), a.Verb)
	switch a.Verb {
	case SetParent, ReplaceParent:
		text += fmt.Sprintf(" %s %+v", a.ID, a.Parent)
	case SuspendParent:
		text += fmt.Sprintf(" %s %+v", a.ID, a.Parent)
	case ShiftDates, JumpClock:
		text += " by " + a.Offset.String()
	case BlockParent:
		text += fmt.Sprintf(" %s %+v, held: %v", a.ID, a.Parent, a.Held)
	case Deprive:
		text += fmt.Sprintf(" of the right to %s, %s %+v", a.Right, a.ID, a.Edited)
	case WithdrawRight:
		text += " to " + a.Right.String()
	case OrphanEdited:
		text += fmt.Sprintf(" of %v", slices.SortedFunc(maps.Keys(a.Parents), compareParents))
	case DeleteParent, OrphanParent, SkipParent, SpoilStatus, StripStatus, NoteStatus:
		text += " " + a.ID.String()
	case SetSource:
		text += fmt.Sprintf(" %s %+v", a.Child, a.Source)
	case SetPod:
		text += fmt.Sprintf(" %s %q", a.Child, a.Text)
	case MoveEngines:
		text += fmt.Sprintf(", %d of them", len(a.Parents))
	case Watches403, Watches500, Watches410, HoldWatches:
		text += " of " + a.Resource
	case ReplaceKind, UnserveKind:
		text += " " + a.ID.Kind
	case WipeController:
		text += " " + a.Shape
	case SetController, ReplaceController, RemoveController:
		text += fmt.Sprintf(" %s %+v", a.Shape, a.Controller)
	case OpenNamespace, CloseNamespace:
		text += " " + a.Namespace
	default:
		if a.Child.Name != "" {
			text += " " + a.Child.String()
		}
		if a.Guise != "" {
			text += ", " + string(a.Guise)
		}
	}
	if a.For > 0 {
		text += " for " + a.For.String()
	}
	if a.Replica > 0 {
		text += fmt.Sprintf(", replica %d", a.Replica)
	}
	if a.Hard {
		text += ", hard"
	}
	return text
}

// Apply changes the world as the action does. What strangers do, and what breaks,
// leaves it alone.
func (w *World) Apply(a Action) {
	switch a.Verb {
	case SetParent, ReplaceParent:
		w.Parents[a.ID] = a.Parent
	case DeleteParent, OrphanParent, SkipParent, BlockParent, SuspendParent:
		delete(w.Parents, a.ID)
	case WipeController:
		w.forget(a.Shape)
	case OrphanEdited:
		maps.DeleteFunc(w.Parents, func(id ParentID, _ Parent) bool { _, goes := a.Parents[id]; return goes })
	case Deprive:
		w.Parents[a.ID] = a.Edited
		if a.Right.Deletes() {
			delete(w.Parents, a.ID)
		}
	case SetController, ReplaceController, RemoveController:
		if a.Verb == ReplaceController || a.Verb == SetController && w.Controllers[a.Shape].Absent {
			w.forget(a.Shape)
		}
		w.Controllers[a.Shape] = a.Controller
	case ReplaceKind:
		for id := range w.Parents {
			if id.Kind == a.ID.Kind {
				delete(w.Parents, id)
			}
		}
	case MoveEngines:
		maps.Copy(w.Parents, a.Parents)
	case SetSource:
		w.Sources[a.Child] = a.Source
	case DeleteSource:
		delete(w.Sources, a.Child)
	case SetPod:
		w.Logs[a.Child] = a.Text
	case DeletePod:
		delete(w.Logs, a.Child)
	case RemoveParts:
		w.NoParts = true
	case DefineParts:
		w.NoParts = false
	case OpenNamespace:
		w.Open[a.Namespace] = true
	case CloseNamespace:
		delete(w.Open, a.Namespace)
	default:
	}
}
