// Package plan decides what is to be done about the children of a parent: what to create, change and delete. It compares
// what is wanted with what is there, and reads nothing else.
package plan
