// Package helmtest compares internal/render with Helm's template engine. It
// contains only tests, in a separate module so that ours does not depend on Helm.
//
// testdata has snippets of the idioms that charts use. Each is rendered by both
// engines. If the results differ, the snippet names the row in docs/concepts/helm.md
// that explains why; a row without a difference fails the test, too.
package helmtest
