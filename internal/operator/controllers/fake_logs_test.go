package controllers

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/reconcile/podlogs"
)

func (c *cluster) readLogs(as string) podlogs.Reader { return c.logs.As(as) }

// fetchLogs works as run does, until no log is on its way, and returns the requests.
func (c *cluster) fetchLogs() []string {
	c.t.Helper()
	all := []string{}
	for {
		made := c.run()
		all = append(all, made...)
		c.controllers.logs.Wait()
		if len(made) == 0 && c.parentsDue.Len() == 0 {
			return all
		}
	}
}

// statusOf returns the status of an App, without conditions.
func (c *cluster) statusOf(name string) map[string]any {
	status, _, _ := unstructured.NestedMap(c.get("apps", name).Object, "status")
	delete(status, "conditions")
	return status
}
