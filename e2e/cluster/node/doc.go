// Package node is what runs inside a cluster: the process that keeps all the
// others. For a real node it is PID 1 of namespaces of its own, which it turns
// into a machine; with kwok it is an ordinary process. The Forward of a real
// node brings the API server to the host's loopback.
package node
