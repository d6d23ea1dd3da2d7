// Package readiness tells whether an object is ready, and why not: kstatus, and what templater knows better of Jobs
// and Pods. It depends on the object alone, not on the clock.
package readiness
