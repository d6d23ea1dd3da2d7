// Package reconcile keeps the children and the status of parents in step with
// their TemplateControllers.
//
// Controllers turns each TemplateController into a running controller: it compiles the
// templates, says which objects are to be watched, and reports in the
// TemplateController's status. Reconciler works through the queue of parents.
// One pass over a parent gathers what is there, renders what should be there,
// plans the difference, acts on it, and writes the parent's status at the end:
//
//	gather → desire → plan → act → status
//
// Everything that a pass reads comes from caches, so a pass that finds nothing
// different makes no request.
package reconcile
