// Package metrics has the Prometheus metrics of the operator.
//
// Registry holds all metrics. Those of one TemplateController are in a
// Meter of its own, which costs a reconciliation a few atomic additions, and is converted
// when the metrics are scraped; the series of a TemplateController are removed when it is
// deleted. Labels hold names of TemplateControllers, resources, verbs and
// results, never values of objects.
//
// client-go reports its requests and leader elections to one place in the whole process, so
// all registries show the same of these.
package metrics
