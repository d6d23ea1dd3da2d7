// Package running is what a TemplateController comes to while it runs: which objects are its parents and children, which of them
// are known, and what keeps the others from being known.
package running
