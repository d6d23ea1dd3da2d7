package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// hoarders are templates that use as much memory as they can get.
var hoarders = []string{
	`{{ $json := print "[" (repeat 3000 "{\"\":1},") "1]" }}{{ $all := list }}{{ range 1000 }}{{ $all = append $all (fromJson $json) }}{{ end }}`,
	`{{ $all := list }}{{ range 100 }}{{ $all = append $all (fromYaml (print "[" (repeat 79000 ": -") "]")) }}{{ end }}`,
}

// staysWithinItsMemory has parents of many TemplateControllers use all the memory they can get at once, with the limit
// that templater is shipped with. Each is a separate tenant, so that they are reconciled alternately and each
// reconciliation holds much memory. Without global accounting, templater would be OOM-killed repeatedly.
func (i *installation) staysWithinItsMemory() {
	i.t.Helper()
	const number, parents = 20, 40
	i.defineThing()
	i.apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "@id-hoarders", labels: {rbac.templater.dev/aggregate-to-templater: "true"}}
rules:
- {apiGroups: ["@group"], resources: [things], verbs: [get, list, watch]}
- {apiGroups: ["@group"], resources: [things/status], verbs: [patch]}
- {apiGroups: ["@group"], resources: [things/finalizers], verbs: [update]}
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}
`)
	n := newNeighbor(i.scope)
	for at := range number {
		i.controllerNamed(fmt.Sprint("@id-hoarder-", at), fmt.Sprintf(`
watch: {apiVersion: "@group/v1", kind: Thing, namespaces: ["@ns"], labelSelector: {matchLabels: {side: hoarder-%d}}}
children:
- name: none
  template: '%s'
`, at, hoarders[at%len(hoarders)]))
	}
	start := time.Now()
	for at := range parents {
		i.labeled(fmt.Sprint("hoarder-", at), fmt.Sprint("hoarder-", at%number))
	}
	waited := n.wait()
	failed := func() (failed int) {
		for _, o := range i.list(i.things(), "side!=quiet") {
			if condition(&o, "Ready", "False", "TemplateError") == nil {
				failed++
			}
		}
		return failed
	}
	beside := parents - failed()
	eventually(i.t, soon, func() error {
		if got := failed(); got < parents {
			return fmt.Errorf("%d of %d parents have failed", got, parents)
		}
		return nil
	})
	took := time.Since(start)
	i.withinLimits(func(pod string, most, limit int64) {
		i.t.Logf("%s: at most %d of %d MiB; %d parents took %v, a neighbor's waited %v while %d were left", pod, most>>20, limit>>20, parents, took, waited, beside)
	})
	for at := range number {
		i.delete(env.client.Resource(controllers), fmt.Sprint(i.id, "-hoarder-", at))
	}
	i.delete(env.client.Resource(controllers), i.id+"-quiet")
	i.shell("kubectl delete clusterrole " + i.id + "-hoarders")
}

// withinLimits expects that no templater container was restarted or has exceeded its memory limit. It calls say with
// the peak memory of each.
func (i *installation) withinLimits(say func(pod string, most, limit int64)) {
	i.t.Helper()
	for _, pod := range i.list(env.client.Resource(pods).Namespace(home), "app.kubernetes.io/name=templater") {
		if pod.GetDeletionTimestamp() != nil {
			continue
		}
		statuses, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
		specs, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
		if len(statuses) != 1 || len(specs) != 1 {
			i.t.Fatalf("%s has %d containers, of which %d have a status, want one", pod.GetName(), len(specs), len(statuses))
		}
		if restarts := statuses[0].(map[string]any)["restartCount"]; restarts != int64(0) { //nolint:forcetypeassert // set by the API server
			i.t.Errorf("%s was started again %v times", pod.GetName(), restarts)
		}
		text, _, _ := unstructured.NestedString(specs[0].(map[string]any), "resources", "limits", "memory") //nolint:forcetypeassert // API server data
		limit, err := resource.ParseQuantity(text)
		if err != nil {
			i.t.Fatal(err)
		}
		most, err := mostMemory(pod.GetName())
		if err != nil {
			i.t.Fatal(err)
		}
		if say(pod.GetName(), most, limit.Value()); most >= limit.Value() {
			i.t.Errorf("%s had %d MiB of memory, its limit is %d", pod.GetName(), most>>20, limit.Value()>>20)
		}
	}
}

// mostMemory returns the peak memory, in bytes, of the operator in a Pod of the node, which is this machine. It does
// not depend on the node's cgroups.
func mostMemory(pod string) (int64, error) {
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return 0, err
	}
	for _, path := range all {
		environ, err := os.ReadFile(path)
		if err != nil || !strings.Contains("\x00"+string(environ), "\x00HOSTNAME="+pod+"\x00") {
			continue // it may have exited
		}
		return mostMemoryOf(filepath.Dir(path))
	}
	return 0, errors.New("no process has the host name " + pod)
}

// mostMemoryOf returns the peak memory, in bytes, of the process of a folder in /proc.
func mostMemoryOf(process string) (int64, error) {
	status, err := os.ReadFile(filepath.Join(process, "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, errors.New(process + " has no VmHWM")
}
