// Package leader implements leader election.
//
// It uses a Lease and client-go's leader election, and adds two things: the lease is released only when all work is finished (see
// Election.Run), and a Fence rejects writes once another replica may hold the lease, even if this process was paused in between.
package leader
