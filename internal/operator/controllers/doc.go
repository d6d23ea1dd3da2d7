// Package controllers syncs TemplateControllers: it compiles each into a running controller, sets its watches, queues parents when
// something changes, and writes the TemplateController's status. Parents are reconciled by package reconcile, which New creates, too.
package controllers
