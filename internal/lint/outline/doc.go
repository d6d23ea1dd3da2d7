// Package outline reads the YAML that a template shows without data: its documents, their kinds, and where it is not YAML. It knows
// nothing of types, is pure, and its work is bounded.
package outline
