// Package kind says what a kind of the API server is: whether it is there, in which versions, what its
// status can hold, and what of its definition is worth keeping. It needs no client.
package kind
