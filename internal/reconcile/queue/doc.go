// Package queue holds the parents to look at: it says whose turn it is, how many passes may be under way, and when a
// parent is looked at again.
package queue
