// Package v1 defines the TemplateController API, group templater.dev, version
// v1.
//
// A TemplateController is cluster-scoped. It names a kind to watch, templates
// for the child objects of each object of that kind, and a template for the
// status of each. The package contains types, condition types and reasons, but
// no logic.
//
// +kubebuilder:object:generate=true
// +groupName=templater.dev
package v1
