// Package certificate manages the serving certificate of the webhook in a Secret: the leader creates it, renews it
// before it expires, and writes the CA bundle; all replicas serve it as soon as they read it.
package certificate
