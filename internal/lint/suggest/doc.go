// Package suggest says in words which key a template asks for in vain, and which one may have been meant: the nearest one, or where
// else in the object it is. Its work is bounded.
package suggest
