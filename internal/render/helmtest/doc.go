// Package helmtest compares internal/render with the engine of Helm. It holds
// tests only, in a module of its own so that Helm stays out of ours.
//
// testdata has snippets of the idioms that charts use. Each is rendered by both
// engines. Where the results differ, the snippet names the row in docs/concepts/helm.md
// that says why; a row without a difference fails the test as well.
package helmtest
