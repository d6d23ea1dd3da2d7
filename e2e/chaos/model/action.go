package model

import (
	"fmt"
	"maps"
	"time"
)

// Verb is the kind of an action.
type Verb string

// Actions of users and other clients.
const (
	SetParent     Verb = "set parent"     // create or change it
	DeleteParent  Verb = "delete parent"  // Hard: in the foreground
	OrphanParent  Verb = "orphan parent"  // delete it but not its children; delete these afterwards
	SkipParent    Verb = "skip parent"    // delete it, and skip finalization
	ReplaceParent Verb = "replace parent" // delete it and recreate it immediately

	SetController     Verb = "set controller"
	RemoveController  Verb = "remove controller"
	ReplaceController Verb = "replace controller" // delete it and recreate it; its children are orphans meanwhile
	WipeController    Verb = "wipe controller"    // remove its status, as by restoring a backup without status
	ReplaceKind       Verb = "replace kind"       // delete the CRD and recreate it, without parents
	UnserveKind       Verb = "unserve kind"       // temporarily; the objects are kept. Hard: an operator is killed meanwhile
	MoveEngines       Verb = "move engines"       // create or change many parents at once
	SetSource         Verb = "set source"         // create or change a related object of parents
	DeleteSource      Verb = "delete source"
	SetPod            Verb = "set pod" // run it, replacing an earlier one; Text is its log
	DeletePod         Verb = "delete pod"
	RemoveParts       Verb = "remove parts" // the CRD of a kind of children
	DefineParts       Verb = "define parts" //
	OpenNamespace     Verb = "open namespace"
	CloseNamespace    Verb = "close namespace"

	EditChild     Verb = "edit child"       // change fields that the template sets
	StripChild    Verb = "strip child"      // remove fields that the template sets
	UnlabelChild  Verb = "unlabel child"    // remove the label that watches select by
	RelabelChild  Verb = "relabel child"    // set the label to another TemplateController
	StripMarks    Verb = "strip marks"      // remove the annotations that templater sets, except the seal
	ForgeMarks    Verb = "forge marks"      // replace these annotations
	UnsealChild   Verb = "unseal child"     // remove the seal, and delete the child after a while
	DeleteChild   Verb = "delete child"     //
	PutForeign    Verb = "put foreign"      // an object with the name of a child
	RemoveForeign Verb = "remove foreign"   //
	AddToChild    Verb = "add to the child" // a field that no template sets
	HoldChild     Verb = "hold child"       // a finalizer that is removed after a while
	SpoilStatus   Verb = "spoil status"     // of a parent: overwrite fields that the template sets
	StripStatus   Verb = "strip status"     // remove it completely
	NoteStatus    Verb = "note in status"   // field and condition of another client
)

// Faults.
const (
	KillOperator     Verb = "kill operator"
	StopOperator     Verb = "stop operator"   // with SIGTERM
	FreezeOperator   Verb = "freeze operator" // with SIGSTOP, until SIGCONT
	KillAPIServer    Verb = "kill kube-apiserver"
	KillEtcd         Verb = "kill etcd"
	Cut              Verb = "cut connections"
	Stall            Verb = "stall connections"
	Answer429        Verb = "answer 429"
	Answer500        Verb = "answer 500"
	DropAnswers      Verb = "drop answers" // to writes that the server has executed
	SlowAnswers      Verb = "slow answers"
	LateAnswers      Verb = "late answers"
	ShiftDates       Verb = "shift dates"       // of the server's responses
	JumpClock        Verb = "jump clock"        // of the operator, and back
	Watches403       Verb = "refuse watches"    // of one resource
	Watches500       Verb = "fail watches"      // of one resource
	Watches410       Verb = "expire watches"    // of one resource
	HoldWatches      Verb = "hold watches"      // of one resource: new ones start, but deliver nothing for a while
	CompactEtcd      Verb = "compact etcd"      // and kill kube-apiserver, so that old resource versions are unavailable
	RevokePermission Verb = "revoke permission" // from the operators
	FailLogs         Verb = "fail logs"         // requests for Pod logs
)

// Faults are the verbs of all faults.
var Faults = []Verb{KillOperator, StopOperator, FreezeOperator, KillAPIServer, KillEtcd, Cut, Stall, Answer429, Answer500, DropAnswers, SlowAnswers, LateAnswers, ShiftDates, JumpClock, Watches403, Watches500, Watches410, HoldWatches, CompactEtcd, RevokePermission, FailLogs}

// Guise is how closely a foreign object resembles a child.
type Guise string

// The guises. Each adds to the previous one.
const (
	Plain     Guise = "plain"
	Labelled  Guise = "with a child's labels"
	CoOwned   Guise = "with the parent as an owner" // but not as its controller
	Bereft    Guise = "with a parent that is gone"  // as its controller; the garbage collector deletes it
	Identical Guise = "with the parent as its controller, and a copy of a child's annotations"
)

// Guises are all guises.
var Guises = []Guise{Plain, Labelled, CoOwned, Bereft, Identical}

// Action is an event in a round.
type Action struct {
	Verb       Verb
	After      time.Duration // since the previous action
	For        time.Duration // duration of a fault
	Offset     time.Duration // of a clock
	Replica    int           // the operator replica that a fault affects, from 1; 0 = all
	ID         ParentID      // of parents; only Kind for ReplaceKind
	Parent     Parent
	Shape      string // of TemplateControllers
	Controller Controller
	Child      ChildID
	Source     Source              // of SetSource
	Text       string              // of SetPod
	Guise      Guise               // of PutForeign
	Parents    map[ParentID]Parent // of MoveEngines
	Permission Permission          // of RevokePermission
	Resource   string              // resource whose watches a fault affects
	Namespace  string
	Hard       bool // see the verbs
}

// String describes the action in one line.
func (a Action) String() string {
	text := fmt.Sprintf("+%dms %s", a.After.Milliseconds(), a.Verb)
	switch a.Verb {
	case SetParent, ReplaceParent:
		text += fmt.Sprintf(" %s %+v", a.ID, a.Parent)
	case ShiftDates, JumpClock:
		text += " by " + a.Offset.String()
	case RevokePermission:
		text += " to " + a.Permission.String()
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

// Apply applies the action to the world. Actions of other clients and faults do not change it.
func (w *World) Apply(a Action) {
	switch a.Verb {
	case SetParent, ReplaceParent:
		w.Parents[a.ID] = a.Parent
	case DeleteParent, OrphanParent, SkipParent:
		delete(w.Parents, a.ID)
	case WipeController:
		w.forget(a.Shape)
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
