// Package kube is the reconciler's access to the API server: the requests that
// it makes, the kinds that the server has, and Events.
//
// It is the only package that writes. Nothing in it decides; what to write is
// decided in package reconcile.
package kube
