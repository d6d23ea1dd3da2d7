// Package data represents values in templates: the view of the input, the conversion to text, and the arguments of functions
// with their cost.
//
// A value is nil, a bool, string, int64, float64, []any or map[string]any, text of package token, or a [Closed] map. [Normal] converts
// decoded JSON to these types. The content of lists and maps is converted when it is read. Nothing here modifies its arguments.
package data
