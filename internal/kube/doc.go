// Package kube makes the requests to the API server, discovers its kinds and publishes Events.
package kube
