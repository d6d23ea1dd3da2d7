// Package leader elects one of several replicas to work.
//
// It uses a Lease and client-go's leader election, and adds two things: the lease is
// released only when all work is finished (see Election.Run), and a Fence refuses
// writes once another replica may have the lease, also in a process that
// was suspended.
package leader
