// Package related says which objects each parent reads besides its own children, and finds the parents that have to be
// looked at when one of these objects changes.
package related
