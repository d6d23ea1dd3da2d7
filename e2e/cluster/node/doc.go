// Package node is the first process of a cluster, which supervises all others. For a real node it is PID 1 of its own
// namespaces, which it sets up as a machine; with kwok it is an ordinary process. Forward makes the API server of a
// real node reachable on the host's loopback.
package node
