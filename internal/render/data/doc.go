// Package data is what templates compute with: what they see of the input, what their values are and count as, and how these
// are written as text.
//
// A value is nil, a bool, string, int64, float64, []any or map[string]any, text of package token, or a [Closed] map. [Normal] makes
// one of what decoders of JSON yield. The content of lists and maps is JSON as it was decoded, and is made normal where it is read.
// Nothing here changes a value that it is given.
package data
