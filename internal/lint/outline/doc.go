// Package outline tells of the YAML that a template prints what its own text shows, whatever its actions print. It knows nothing of
// types, is pure, and its work is bounded.
package outline
