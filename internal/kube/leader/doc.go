// Package leader lets one of several replicas work, and the others wait.
//
// The replicas compete for a Lease, by client-go's leader election. This package
// adds what that leaves to its user: the lease is released only when all work is
// finished (see Election.Run), and a Fence refuses writes once the lease may
// be another replica's, in a process that was frozen, too.
package leader
