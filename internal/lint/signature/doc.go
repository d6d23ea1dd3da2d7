// Package signature says what the functions of templates take and yield, as far as their names alone tell. It is safe for
// concurrent use.
package signature
