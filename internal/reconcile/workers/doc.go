// Package workers runs the goroutines that do the work: it tells what each has under way, has others work in place of those who
// wait for long, and shares processors and memory between tenants.
package workers
