// Package rights says which right is missing where the API server refuses a request, whose it is, and by which rule of
// which role it can be granted.
//
// The server tells of one verb at a time, so the others are asked for, in the background: see Tracker.
package rights
