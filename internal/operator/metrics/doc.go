// Package metrics measures the operator for Prometheus.
//
// Registry holds everything that is measured. What concerns one TemplateController is in a
// Meter of its own, which costs a pass a few atomic additions, and is put into
// Prometheus' form when it is asked for; the series of a TemplateController that is gone
// go with it. Labels hold names of TemplateControllers, resources, verbs and
// results, never values of objects.
//
// client-go reports its requests and leader elections to one place in the whole process, so
// all registries show the same of these.
package metrics
