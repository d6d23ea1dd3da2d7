// Package certificate keeps the serving certificate of the webhook in a Secret: the leader creates it, renews it in time, and writes
// the CA bundle; all replicas serve it as soon as they read it.
package certificate
