// Package controllers is the life of TemplateControllers: it turns each into a running controller, says which objects are to be
// watched, has parents looked at when something changes, and reports in the TemplateController's status. What becomes of a
// parent is left to a pass: see package reconcile, which is put together with it here.
package controllers
