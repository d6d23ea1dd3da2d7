// Package render turns templates and plain data into Kubernetes objects.
//
// It is pure: no client, no clock, no network, no randomness. The same input
// always yields the same objects or the same error.
//
// # Values never become structure
//
// Anyone who can create a parent chooses the strings that templates
// print, so text that is concatenated from strings and then parsed as YAML
// would let that user add fields to a child. Here a template never prints a
// string: it prints a token that stands for it. The text with its tokens is
// parsed as YAML, and only then each token is replaced, inside the scalar
// where it ended up. What a string contains cannot change what was parsed.
//
// # How a template is executed
//
// Templates are parsed by [text/template/parse], so their syntax is exactly
// that of text/template. They are executed here and not by text/template,
// because every step must be counted against a budget, every error must name
// the author's own line and column without ever quoting data, nothing may be
// reached by reflection, and the renderer is on the operator's hot path. A
// test executes a set of templates with both and compares the results.
//
// # Parsed once
//
// Output that differs between parents only in the values of its tokens is
// parsed once. This only saves time: see [document.Shapes].
//
// # Parts
//
// Package syntax parses and checks templates, as far as that is possible without data.
// This package executes them, with package data for their input, package funcs for the functions they call, package token
// for values that must not become text, and package budget to limit the resources that they use. Package document converts their output to objects.
//
// # Kinds of text
//
// A string is one of three types while a template runs. A plain string holds
// characters and no tokens. [token.Rendered] text, from include, toYaml, toJson or
// quote, is template output that has tokens in it. [token.Derived] text is plain,
// spans lines and was computed from rendered text; it must not be indented,
// since its line ends may be structure or content, and the two cannot be distinguished.
package render
