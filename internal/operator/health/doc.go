// Package health serves the liveness and readiness probes.
//
// Liveness fails only if a restart can help: not if the API server is unavailable or rejects a watch, but if a watch no
// longer receives events, or a worker hangs.
package health
