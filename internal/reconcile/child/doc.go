// Package child makes the children of a parent from what templates yield, and knows whose an object is.
//
// What is decided about that is decided here, see Ownership: everybody else asks. The package makes no request, and
// reads nothing but what it is given.
package child
