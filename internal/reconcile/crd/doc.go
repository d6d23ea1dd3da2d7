// Package crd makes the CustomResourceDefinition of spec.crd, and decides whether a change of its schema breaks stored objects. It needs no
// client.
package crd
