// Package value says what is known of the values of templates, whatever the data: of which kinds they may be, which fields and items
// they have, where they are from, and why they are always missing. What may come of two ways is joined. Values do not change, but
// those of one spec.values remember their items, so that they belong to one goroutine.
package value
