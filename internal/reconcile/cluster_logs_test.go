package reconcile_test

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/reconcile/podlogs"
)

func (c *cluster) readLogs(as string) podlogs.Reader { return c.logs.As(as) }

// fetchLogs runs until all logs are read, and returns the requests.
func (c *cluster) fetchLogs() []string {
	c.t.Helper()
	all := []string{}
	for {
		made := c.run()
		all = append(all, made...)
		c.shared.logs.Wait()
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

// settleLogs runs until all logs are read and the queues are empty.
func (c *cluster) settleLogs() {
	c.t.Helper()
	for {
		made := c.fetchLogs()
		c.deliver()
		if len(made) == 0 && c.parentsDue.Len()+c.controllers.queue.Len() == 0 {
			return
		}
	}
}
