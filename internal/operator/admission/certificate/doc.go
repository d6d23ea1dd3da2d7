// Package certificate keeps the certificate of the admission webhook in a Secret: the leader makes it, renews it in time, and tells
// the API server which one to trust; all replicas show it as soon as it is known.
package certificate
