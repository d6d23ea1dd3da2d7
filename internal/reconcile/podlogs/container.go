package podlogs

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ran tells one run of a container from another, and whether it has ended: then its log stays as it is.
type ran struct {
	id    string // as the container runtime has it
	ended bool
}

// container is one of a Pod that has a log.
type container struct {
	name string
	ran  ran
}

// containersOf returns the containers of a Pod, JSON data, that have a log, as its status tells. previous is about the logs of
// those that ran before them.
func containersOf(pod map[string]any, previous bool) []container {
	var all []container
	for _, field := range []string{"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"} {
		statuses, _, _ := unstructured.NestedFieldNoCopy(pod, "status", field)
		list, _ := statuses.([]any)
		for _, item := range list {
			status, _ := item.(map[string]any)
			name, _ := status["name"].(string)
			if run, has := lastRun(status, previous); has && name != "" {
				all = append(all, container{name, run})
			}
		}
	}
	return all
}

// lastRun returns the run of a container that its log is of. One that waits to be started again has the log of its last run.
func lastRun(status map[string]any, previous bool) (run ran, has bool) {
	state, _ := status["state"].(map[string]any)
	if _, running := state["running"]; running && !previous {
		id, _ := status["containerID"].(string)
		return ran{id: id}, true
	}
	if previous || state["terminated"] == nil {
		state, _ = status["lastState"].(map[string]any)
	}
	terminated, _ := state["terminated"].(map[string]any)
	id, _ := terminated["containerID"].(string)
	return ran{id: id, ended: true}, id != "" // without an ID, it has never begun
}
