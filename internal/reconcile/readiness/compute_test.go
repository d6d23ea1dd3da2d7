package readiness

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadinessOfKinds(t *testing.T) {
	ready := result{state: Ready}
	coming := func(why string) result { return result{InProgress, why} }
	failed := func(why string) result { return result{Failed, why} }
	const (
		job        = "{apiVersion: batch/v1, kind: Job, "
		pod        = "{apiVersion: v1, kind: Pod, "
		deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, generation: 2}, "
		set        = "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x, generation: 2}, "
		custom     = "{apiVersion: example.org/v1, kind: Widget, metadata: {name: x, generation: 2}, "
	)
	for why, row := range map[string]struct {
		text string
		want result
	}{
		"a Job that nobody has looked at":                 {job + "spec: {}}", coming("not started yet")},
		"a Job that runs":                                 {job + "spec: {completions: 3}, status: {startTime: x, active: 1, succeeded: 1}}", coming("running, 1 of 3 Pods have succeeded")},
		"a Job that runs, by its parallelism":             {job + "spec: {parallelism: 2}, status: {startTime: x}}", coming("running, 0 of 2 Pods have succeeded")},
		"a Job that is complete":                          {job + "status: {startTime: x, conditions: [{type: SuccessCriteriaMet, status: 'True'}, {type: Complete, status: 'True'}]}}", ready},
		"a Job that is nearly complete":                   {job + "spec: {}, status: {startTime: x, succeeded: 1, conditions: [{type: SuccessCriteriaMet, status: 'True'}]}}", coming("running, 1 of 1 Pods have succeeded")},
		"a Job that was complete":                         {job + "spec: {}, status: {startTime: x, conditions: [{type: Complete, status: 'False'}]}}", coming("running, 0 of 1 Pods have succeeded")},
		"a Job that has failed":                           {job + "status: {startTime: x, conditions: [{type: FailureTarget, status: 'True'}, {type: Failed, status: 'True', reason: BackoffLimitExceeded, message: " + secret + "}]}}", failed("failed (BackoffLimitExceeded)")},
		"a Job that is about to fail":                     {job + "status: {startTime: x, conditions: [{type: FailureTarget, status: 'True', reason: BackoffLimitExceeded}]}}", coming("running, 0 of 1 Pods have succeeded")},
		"a Job that is suspended has work left":           {job + "spec: {suspend: true}, status: {conditions: [{type: Suspended, status: 'True'}]}}", coming("suspended")},
		"a CronJob is as its spec says":                   {"{apiVersion: batch/v1, kind: CronJob, spec: {suspend: true}, status: {active: [{}]}}", ready},
		"a Job of another group":                          {"{apiVersion: example.org/v1, kind: Job}", ready},
		"a Pod that nobody has looked at":                 {pod + "spec: {}}", coming("pending")},
		"a Pod that waits for an image":                   {pod + "status: {phase: Pending, containerStatuses: [{state: {waiting: {reason: ImagePullBackOff, message: " + secret + "}}}]}}", coming("pending (ImagePullBackOff)")},
		"a Pod that is on its way":                        {pod + "status: {phase: Pending, containerStatuses: [{state: {waiting: {reason: ContainerCreating}}}]}}", coming("pending")},
		"a Pod that has no place, whatever the clock":     {pod + "metadata: {creationTimestamp: '2020-01-01T00:00:00Z'}, status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable}]}}", coming("pending (Unschedulable)")},
		"a Pod that runs":                                 {pod + "status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}}", ready},
		"a Pod that was ready once":                       {pod + "status: {phase: Unknown, conditions: [{type: Ready, status: 'True'}]}}", coming("pending")},
		"a Pod that runs and is not ready":                {pod + "status: {phase: Running, conditions: [{type: Ready, status: 'False', reason: ContainersNotReady}]}}", coming("running, but not ready")},
		"a Pod that ends again and again":                 {pod + "status: {phase: Running, containerStatuses: [{state: {running: {}}}, {state: {waiting: {reason: CrashLoopBackOff}}}]}}", failed("failed (CrashLoopBackOff)")},
		"a Pod that never begins, as one ends":            {pod + "status: {phase: Pending, conditions: [{type: PodScheduled, status: 'True'}], initContainerStatuses: [{state: {waiting: {reason: CrashLoopBackOff}}}], containerStatuses: [{state: {waiting: {reason: PodInitializing}}}]}}", failed("failed (CrashLoopBackOff)")},
		"a Pod that has succeeded":                        {pod + "status: {phase: Succeeded}}", ready},
		"a Pod that has failed":                           {pod + "status: {phase: Failed, containerStatuses: [{state: {terminated: {reason: Completed}}}, {state: {terminated: {reason: OOMKilled}}}]}}", failed("failed (OOMKilled)")},
		"a Pod whose init container has failed":           {pod + "status: {phase: Failed, initContainerStatuses: [{state: {terminated: {reason: Error}}}]}}", failed("failed (Error)")},
		"a Pod that was evicted":                          {pod + "status: {phase: Failed, reason: Evicted, message: " + secret + "}}", failed("failed (Evicted)")},
		"a Pod of another group":                          {"{apiVersion: example.org/v1, kind: Pod, status: {phase: Failed}}", ready},
		"a Deployment with too few replicas":              {deployment + "spec: {replicas: 3}, status: {observedGeneration: 2, replicas: 3, updatedReplicas: 3, readyReplicas: 1}}", coming("1 of 3 replicas are ready")},
		"a Deployment that is rolled out":                 {deployment + "spec: {replicas: 3}, status: {observedGeneration: 2, replicas: 3, updatedReplicas: 1, readyReplicas: 3}}", coming("1 of 3 replicas are up to date")},
		"a Deployment with old replicas":                  {deployment + "spec: {}, status: {observedGeneration: 2, replicas: 2, updatedReplicas: 1, readyReplicas: 2}}", coming("its rollout is in progress")},
		"a Deployment whose spec is new":                  {deployment + "status: {observedGeneration: 1}}", coming("its controller has not observed its current spec yet")},
		"a Deployment past its deadline":                  {deployment + "spec: {progressDeadlineSeconds: 1}, status: {observedGeneration: 2, conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded, message: " + secret + "}]}}", failed("failed (ProgressDeadlineExceeded)")},
		"a Deployment that is ready":                      {deployment + "spec: {replicas: 1, progressDeadlineSeconds: 600}, status: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [{type: Available, status: 'True'}, {type: Progressing, status: 'True', reason: NewReplicaSetAvailable}]}}", ready},
		"a StatefulSet with too few replicas":             {set + "spec: {replicas: 3}, status: {observedGeneration: 2, replicas: 2, readyReplicas: 1}}", coming("1 of 3 replicas are ready")},
		"a ReplicaSet with too few replicas":              {"{apiVersion: apps/v1, kind: ReplicaSet, status: {replicas: 1}}", coming("0 of 1 replicas are ready")},
		"a DaemonSet with too few Pods":                   {"{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 2, numberReady: 1}}", coming("1 of 2 Pods are ready")},
		"a DaemonSet that nobody has looked at":           {"{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}}", coming("its controller has not observed its current spec yet")},
		"a DaemonSet without a generation":                {"{apiVersion: apps/v1, kind: DaemonSet, status: {observedGeneration: 1}}", coming("its controller has not observed its current spec yet")},
		"a claim that is not bound":                       {"{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}", coming("not bound yet")},
		"a Service without an address":                    {"{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}}", coming("no address assigned yet")},
		"a definition that is not established":            {"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {}}", coming("not established yet")},
		"a definition whose names are taken":              {"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: NamesAccepted, status: 'False', reason: ListKindConflict, message: " + secret + "}]}}", failed("failed (ListKindConflict)")},
		"a ConfigMap":                                     {"{apiVersion: v1, kind: ConfigMap}", ready},
		"an object of a custom kind that says nothing":    {custom + "status: {}}", ready},
		"one that is ready":                               {custom + "status: {conditions: [{type: Ready, status: 'True'}]}}", ready},
		"one that is not":                                 {custom + "status: {conditions: [{type: Ready, status: 'False', reason: NoDisk, message: " + secret + "}]}}", coming("not ready according to its conditions (NoDisk)")},
		"one whose reason is no word":                     {custom + "status: {conditions: [{type: Ready, status: 'False', reason: 'no " + secret + "'}]}}", coming("not ready according to its conditions")},
		"one whose reason is as long as a key":            {custom + "status: {conditions: [{type: Ready, status: 'False', reason: A" + strings.Repeat("a", 64) + "}]}}", coming("not ready according to its conditions")},
		"one that is stuck":                               {custom + "status: {conditions: [{type: Stalled, status: 'True', reason: NoDisk}]}}", failed("failed (NoDisk)")},
		"one whose spec is new":                           {custom + "status: {observedGeneration: 1}}", coming("its controller has not observed its current spec yet")},
		"one whose condition is about its old spec":       {custom + "status: {conditions: [{type: Ready, status: 'True', observedGeneration: 1}]}}", coming("its controller has not observed its current spec yet")},
		"one whose condition is about its spec":           {custom + "status: {conditions: [{type: Ready, status: 'True', observedGeneration: 2}]}}", ready},
		"one whose other condition is about its old spec": {custom + "status: {conditions: [{type: Ready, status: 'True'}, {type: Synced, status: 'True', observedGeneration: 1}]}}", ready},
		"one that was not ready with its old spec":        {custom + "status: {conditions: [{type: Ready, status: 'False', observedGeneration: 1}]}}", coming("not ready according to its conditions")},
		"one that nobody can read":                        {custom + "status: {conditions: no list}}", coming("its status cannot be read")},
		"one that is being deleted":                       {job + "metadata: {deletionTimestamp: x}, status: {conditions: [{type: Failed, status: 'True'}]}}", coming("being deleted")},
	} {
		t.Run(why, func(t *testing.T) {
			content := parse(t, row.text)
			got := compute(content)
			if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if IsReady(content) != (row.want.state == Ready) || Why(content) != row.want.why {
				t.Error("templates are told something else")
			}
		})
	}
}
