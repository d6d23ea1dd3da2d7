package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// manyKinds are kinds of children that need only a name to be rendered, as "apiVersion kind".
var manyKinds = []string{
	"v1 ConfigMap", "v1 Secret", "v1 Service", "v1 ServiceAccount", "v1 Pod", "v1 PersistentVolumeClaim", "v1 ReplicationController", "v1 ResourceQuota",
	"v1 LimitRange", "v1 Endpoints", "v1 PodTemplate", "apps/v1 Deployment", "apps/v1 StatefulSet", "apps/v1 DaemonSet", "apps/v1 ReplicaSet",
	"apps/v1 ControllerRevision", "batch/v1 Job", "batch/v1 CronJob", "networking.k8s.io/v1 Ingress", "networking.k8s.io/v1 NetworkPolicy",
	"policy/v1 PodDisruptionBudget", "autoscaling/v2 HorizontalPodAutoscaler", "rbac.authorization.k8s.io/v1 Role", "rbac.authorization.k8s.io/v1 RoleBinding",
	"coordination.k8s.io/v1 Lease", "discovery.k8s.io/v1 EndpointSlice", "events.k8s.io/v1 Event", "storage.k8s.io/v1 CSIStorageCapacity",
}

// TestForbiddenWatchesDoNotDelayNeighbors has two service accounts of one namespace that name 127 missing namespaces
// and render children of 28 kinds, which would be 7,000 watches. They may read only the parents in one namespace.
func TestForbiddenWatchesDoNotDelayNeighbors(t *testing.T) {
	parallel(t)
	const most, mostFiles, mostLog = 1024, 120, 256 << 10
	s := newScope(t)
	s.defineThing()
	v, args := newView(t)
	op := startOperator(t, append(args, "--log-level=info")...)
	n := newNeighbor(s)
	alone := n.waits(5)
	before, logged := watchesIn(t, v), len(op.logged())
	s.labeled("greedy", "greedy")
	for _, account := range []string{"greedy-a", "greedy-b"} {
		s.account(account, thingRules)
		s.applyController("@id-"+account, greedyWatches(account))
	}
	s.waitController("@id-greedy-a", func(o *unstructured.Unstructured) error {
		return condition(o, "Watching", "False", "Forbidden")
	})
	eventually(t, soon, func() error {
		return atLeast("watches", watchesIn(t, v)-before, most*9/10)
	})
	first := n.waits(5)
	pause(t.Context(), 20*time.Second)
	beside := n.waits(5)
	watches, files, lines := watchesIn(t, v)-before, op.openFiles(), len(op.logged())-logged
	t.Logf("%v more watches, %d open files, %d bytes of log; a neighbor waits %v, %v while they begin, and %v beside them", watches, files, lines, alone, first, beside)
	if watches > most || files > mostFiles || lines > mostLog {
		t.Errorf("want at most %d watches, %d open files and %d bytes", most, mostFiles, mostLog)
	}
}

func greedyWatches(account string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "serviceAccountRef: {namespace: \"@ns\", name: %s}\nwatch:\n  apiVersion: \"@group/v1\"\n  kind: Thing\n  labelSelector: {matchLabels: {side: greedy}}\n  namespaces: [\"@ns\"", account)
	for i := range 127 {
		fmt.Fprintf(&text, ", absent-%d", i)
	}
	text.WriteString("]\nchildren:")
	for i, kind := range manyKinds {
		version, kind, _ := strings.Cut(kind, " ")
		fmt.Fprintf(&text, "\n- name: e%d\n  template: |\n    {apiVersion: %s, kind: %s, metadata: {name: greedy}}", i, version, kind)
	}
	return text.String() + "\n"
}

// watchesIn returns the operator's number of watches.
func watchesIn(t *testing.T, v *view) float64 {
	t.Helper()
	m, err := v.scrape()
	if err != nil {
		t.Fatal(err)
	}
	return m["templater_watches"]
}

func atLeast(what string, got, want float64) error {
	if got < want {
		return fmt.Errorf("%v %s, want at least %v", got, what, want)
	}
	return nil
}

// openFiles returns the number of open files, including connections, of the operator's process.
func (op *operator) openFiles() int {
	op.t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", op.command.Process.Pid))
	if err != nil {
		op.t.Fatal(err)
	}
	return len(all)
}
