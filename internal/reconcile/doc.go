// Package reconcile makes one pass over one parent, so that its children and its status are in step with its TemplateController.
//
// A pass observes what is there, renders what is desired, plans the difference, acts on it, and writes the
// parent's status at the end:
//
//	observe → desire → plan → act → status
//
// Everything that a pass reads comes from caches, so a pass that finds nothing different makes no request. The tests that drive
// whole passes are in package controllers, as a pass needs a controller that runs.
package reconcile
