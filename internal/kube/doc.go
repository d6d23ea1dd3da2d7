// Package kube is the reconciler's access to the API server: the requests that
// it makes, the discovery of kinds, and Events.
//
// It is the only package that writes. Nothing in it decides; what to write is
// decided in package reconcile.
package kube
