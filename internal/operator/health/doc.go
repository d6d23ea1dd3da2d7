// Package health says whether the operator is alive and ready, as probes ask.
//
// Alive is what a restart cannot better: a watch that the API server refuses, or an API
// server that is away, are no reasons. A watch that goes blind is one, and so is a worker
// that hangs.
package health
