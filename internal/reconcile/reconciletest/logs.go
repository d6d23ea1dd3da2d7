package reconciletest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
)

// Logs are the logs of Pods, which are read in the background. The zero value has none. Set Hold before they are read.
type Logs struct {
	Hold chan struct{} // responses are sent once it is closed; nil = immediately

	mu    sync.Mutex
	texts map[string]string // by "NAMESPACE/POD/CONTAINER"
	err   error             // the error of all requests
	asked []string          // "USER: NAMESPACE/POD/CONTAINER LINES BYTES"
}

// Set sets the log of a container, "NAMESPACE/POD/CONTAINER", and the error of all requests.
func (l *Logs) Set(name, text string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.texts == nil {
		l.texts = map[string]string{}
	}
	l.texts[name], l.err = text, err
}

// Take returns the requests since the last call, sorted: "USER: NAMESPACE/POD/CONTAINER LINES BYTES".
func (l *Logs) Take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked := l.asked
	l.asked = nil
	slices.Sort(asked)
	return asked
}

// As returns a Reader of the logs for a user.
func (l *Logs) As(user string) podlogs.Reader { return logsAs{l, user} }

type logsAs struct {
	all *Logs
	as  string
}

func (l logsAs) Log(_ context.Context, namespace, pod, container string, o request.LogOptions) (string, error) {
	if l.all.Hold != nil {
		<-l.all.Hold
	}
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	name := namespace + "/" + pod + "/" + container
	l.all.asked = append(l.all.asked, fmt.Sprintf("%s: %s %d %d", l.as, name, o.TailLines, o.LimitBytes))
	return l.all.texts[name], l.all.err
}

// PodOf returns a Pod as YAML. Its container has exited with exitCode, or is running if that is negative.
func PodOf(name, id string, exitCode int64) string {
	state := fmt.Sprintf("{terminated: {containerID: %q, exitCode: %d}}", id, exitCode)
	phase := "Failed"
	if exitCode < 0 {
		state, phase = "{running: {}}", "Running"
	}
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {namespace: ns, name: %s}, status: {phase: %s, containerStatuses: [{name: main, containerID: %q, state: %s}]}}", name, phase, id, state)
}
