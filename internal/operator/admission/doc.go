// Package admission implements the validating webhook for TemplateControllers: it denies those that the operator would
// not accept, and returns warnings. If it is unavailable, the write is allowed, and the operator reports the errors in
// the conditions of the TemplateController.
package admission
