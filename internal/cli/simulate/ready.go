package simulate

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
)

// makeReady makes the requested children ready, except those to be deleted.
func (s *Simulator) makeReady(in State, ready func(entry string) bool) (out State, changed bool) {
	out = in.copy()
	for i, o := range in.Objects {
		entry := Text(Map(Map(o["metadata"])["labels"])[v1.LabelChild])
		if !ready(entry) || IsDeleting(o) {
			continue
		}
		out.Objects[i] = MakeReady(o, in.Now)
		changed = changed || !Same(o, out.Objects[i])
		if id := child.IDOf(o); s.compiled.Program.HasReadyWhen(entry) && !out.isAssumed(read(out.Objects[i])) {
			out.assumed[id], changed = out.Objects[i], true
		}
	}
	return out, changed
}

// isAssumed reports whether a child counts as ready, whatever its readyWhen says: it was assumed to be ready, and only
// templater's metadata has changed since.
func (s State) isAssumed(o *object.Object) bool {
	now := o.Content()
	assumed := s.assumed[child.IDOf(now)]
	return assumed != nil && Map(assumed["metadata"])["uid"] == string(o.UID()) && Same(Public(assumed), Public(now))
}

// Unsure reports whether an object was deleted after a child had counted as ready though its readyWhen was not true: in a cluster, it may never be deleted.
func (s State) Unsure(id child.ID) bool { return s.unsure[id] }

// MakeReady returns an object with the status that its controller writes once it is ready, unless it is being deleted. It returns a ready
// object unchanged. It does not evaluate readyWhen.
func MakeReady(content map[string]any, now time.Time) map[string]any {
	if readiness.IsReady(content) {
		return content
	}
	out := maps.Clone(content)
	metadata := maps.Clone(Map(out["metadata"]))
	generation, ok := metadata["generation"].(int64)
	if !ok {
		generation = 1
		metadata["generation"] = generation
	}
	out["metadata"] = metadata
	spec := Map(out["spec"])
	at := now.UTC().Format(time.RFC3339)
	gk := schema.FromAPIVersionAndKind(Text(out["apiVersion"]), Text(out["kind"])).GroupKind()
	if gk == (schema.GroupKind{Kind: "Service"}) && spec["clusterIP"] == nil {
		out["spec"] = merged(spec, map[string]any{"clusterIP": "192.0.2.2"})
	}
	out["status"] = merged(Map(out["status"]), statusOf(gk, spec, generation, at))
	if readiness.IsReady(out) {
		return out
	}
	out["status"] = merged(Map(out["status"]), map[string]any{"observedGeneration": generation, "conditions": conditions(at, "Ready")})
	return out
}

// statusOf returns the status that the controllers of Kubernetes write; nil for other kinds.
func statusOf(gk schema.GroupKind, spec map[string]any, generation int64, at string) map[string]any {
	n, ok := spec["replicas"].(int64)
	if !ok {
		n = 1
	}
	switch gk.String() {
	case "Deployment.apps":
		status := map[string]any{"observedGeneration": generation, "replicas": n, "updatedReplicas": n, "readyReplicas": n, "availableReplicas": n, "conditions": conditions(at, "Available", "Progressing")}
		Map(status["conditions"].([]any)[1])["reason"] = "NewReplicaSetAvailable"
		return status
	case "StatefulSet.apps":
		return map[string]any{
			"observedGeneration": generation, "replicas": n, "updatedReplicas": n, "readyReplicas": n, "currentReplicas": n, "availableReplicas": n,
			"currentRevision": "1", "updateRevision": "1",
		}
	case "ReplicaSet.apps":
		return map[string]any{"observedGeneration": generation, "replicas": n, "fullyLabeledReplicas": n, "readyReplicas": n, "availableReplicas": n}
	case "DaemonSet.apps":
		return map[string]any{
			"observedGeneration": generation, "desiredNumberScheduled": int64(1), "currentNumberScheduled": int64(1), "updatedNumberScheduled": int64(1),
			"numberReady": int64(1), "numberAvailable": int64(1), "numberMisscheduled": int64(0),
		}
	case "Job.batch":
		done, ok := spec["completions"].(int64)
		if !ok {
			done = 1
		}
		return map[string]any{"startTime": at, "completionTime": at, "succeeded": done, "conditions": conditions(at, "Complete")}
	case "Pod":
		return map[string]any{"phase": "Running", "startTime": at, "conditions": conditions(at, "Initialized", "Ready", "ContainersReady", "PodScheduled")}
	case "PersistentVolumeClaim", "PersistentVolume":
		return map[string]any{"phase": "Bound"}
	case "Service":
		return map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": "192.0.2.1"}}}}
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return map[string]any{"conditions": conditions(at, "NamesAccepted", "Established")}
	}
	return nil
}

// conditions are true since then.
func conditions(at string, types ...string) []any {
	var out []any
	for _, t := range types {
		out = append(out, map[string]any{"type": t, "status": "True", "reason": t, "message": "", "lastTransitionTime": at})
	}
	return out
}
