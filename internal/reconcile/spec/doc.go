// Package spec says what the spec of a TemplateController means, as far as that is known without a server: its
// templates compiled, its selectors parsed, and why it makes no sense.
package spec
