// Package kube is the client of the API server: requests, discovery and Events.
package kube
