package podlogs

// What is kept of one Pod: whoever may write its status can write there what they like.
const (
	mostContainers   = 256
	longestContainer = 63  // the name, as that of a Pod
	longestRun       = 256 // the ID
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

// containersOf returns the containers of a Pod that have a log, as its status tells, which is JSON data. previous is about the logs of
// those that ran before them.
func containersOf(status any, previous bool) []container {
	var all []container
	of, _ := status.(map[string]any)
	for _, field := range []string{"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"} {
		list, _ := of[field].([]any)
		for _, item := range list {
			status, _ := item.(map[string]any)
			name, _ := status["name"].(string)
			run, has := lastRun(status, previous)
			if !has || name == "" || len(name) > longestContainer || len(run.id) > longestRun {
				continue
			}
			if all = append(all, container{name, run}); len(all) == mostContainers {
				return all
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
