// Package metrics defines the Prometheus metrics of the operator.
//
// Registry holds all metrics. Each TemplateController has its own Meter, which is cheap to update (a few atomic
// additions per reconciliation) and is converted on scrape. The series of a TemplateController are removed when it is
// deleted. Labels contain names of TemplateControllers, resources, verbs and results, but never values of objects.
//
// client-go metrics are global to the process, so all registries share them.
package metrics
