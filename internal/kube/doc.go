// Package kube is the API server client: requests, discovery and Events.
package kube
