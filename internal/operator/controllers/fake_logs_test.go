package controllers

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
)

// nodeLogs are the logs of Pods. They are asked for in the background.
type nodeLogs struct {
	mu    sync.Mutex
	texts map[string]string // by "NAMESPACE/POD/CONTAINER"
	err   error             // the answer to all requests
	hold  chan struct{}     // answers come once it is closed; nil = at once
	asked []string          // "USER: NAMESPACE/POD/CONTAINER LINES BYTES"
}

// logsAs reads logs as a user.
type logsAs struct {
	all *nodeLogs
	as  string
}

func (l logsAs) Log(_ context.Context, namespace, pod, container string, o request.LogOptions) (string, error) {
	if l.all.hold != nil {
		<-l.all.hold
	}
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	name := namespace + "/" + pod + "/" + container
	l.all.asked = append(l.all.asked, fmt.Sprintf("%s: %s %d %d", l.as, name, o.TailLines, o.LimitBytes))
	return l.all.texts[name], l.all.err
}

// set has a container write a log; err is the answer to all requests.
func (l *nodeLogs) set(name, text string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.texts[name], l.err = text, err
}

func (c *cluster) readLogs(as string) podlogs.Reader { return logsAs{&c.logs, as} }

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

// podOf is a Pod with a container that has ended with that code, or runs where it is negative.
func podOf(name, id string, exitCode int64) string {
	state := fmt.Sprintf("{terminated: {containerID: %q, exitCode: %d}}", id, exitCode)
	phase := "Failed"
	if exitCode < 0 {
		state, phase = "{running: {}}", "Running"
	}
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {namespace: ns, name: %s}, status: {phase: %s, containerStatuses: [{name: main, containerID: %q, state: %s}]}}", name, phase, id, state)
}

// statusOf returns the status of an App, without conditions.
func (c *cluster) statusOf(name string) map[string]any {
	status, _, _ := unstructured.NestedMap(c.get("apps", name).Object, "status")
	delete(status, "conditions")
	return status
}
