// Package data has the values that templates compute with: the view of the input, the conversion to text, and the arguments of functions
// with their cost.
//
// A value is nil, a bool, string, int64, float64, []any or map[string]any, text of package token, or a [Closed] map. [Normal] makes
// one of what decoders of JSON yield. The content of lists and maps is JSON as it was decoded, and is made normal where it is read.
// Nothing here changes a value that it is given.
package data
