package validate

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/templater-dev/templater/internal/kube/object"
)

// fixed are the fields of a kind that cannot be changed, by group and kind. With but, all other fields below a path are fixed.
type fixed struct {
	paths []string
	// byDefault are the values of paths that are removed; others that are removed are not compared.
	byDefault map[string]any
	below     string // "" = none
	but       []string
	text      string // what the server says about below
}

var fixedFields = map[string]fixed{
	"Deployment.apps": {paths: []string{"spec.selector"}},
	"DaemonSet.apps":  {paths: []string{"spec.selector"}},
	"ReplicaSet.apps": {paths: []string{"spec.selector"}},
	"StatefulSet.apps": {below: "spec", but: []string{"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds"},
		text: "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"},
	"Job.batch":                             {paths: []string{"spec.selector", "spec.template", "spec.completionMode", "spec.podFailurePolicy", "spec.successPolicy", "spec.backoffLimitPerIndex", "spec.managedBy", "spec.completions"}},
	"PersistentVolumeClaim":                 {below: "spec", but: []string{"resources", "volumeAttributesClassName", "volumeName"}, text: "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"},
	"PersistentVolume":                      {paths: []string{"spec.hostPath", "spec.nfs", "spec.local", "spec.csi", "spec.iscsi", "spec.fc", "spec.volumeMode"}},
	"Pod":                                   {below: "spec", but: []string{"containers", "initContainers", "ephemeralContainers", "activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates", "nodeSelector", "affinity", "nodeName"}, text: "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"},
	"RoleBinding.rbac.authorization.k8s.io": {paths: []string{"roleRef"}},
	"ClusterRoleBinding.rbac.authorization.k8s.io": {paths: []string{"roleRef"}},
	"Secret":                               {paths: []string{"type"}, byDefault: map[string]any{"type": "Opaque"}},
	"StorageClass.storage.k8s.io":          {paths: []string{"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"}, byDefault: map[string]any{"parameters": map[string]any{}, "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}},
	"PriorityClass.scheduling.k8s.io":      {paths: []string{"value", "preemptionPolicy"}, byDefault: map[string]any{"value": int64(0), "preemptionPolicy": "PreemptLowerPriority"}},
	"IngressClass.networking.k8s.io":       {paths: []string{"spec.controller"}},
	"RuntimeClass.node.k8s.io":             {paths: []string{"handler"}},
	"EndpointSlice.discovery.k8s.io":       {paths: []string{"addressType"}},
	"ResourceQuota":                        {paths: []string{"spec.scopes"}},
	"VolumeAttributesClass.storage.k8s.io": {paths: []string{"driverName", "parameters"}},
	"ControllerRevision.apps":              {paths: []string{"data"}},
}

// immutable returns the errors of fields that cannot be changed.
func (w Write) immutable() field.ErrorList {
	if w.Before == nil {
		return nil
	}
	var errs field.ErrorList
	rules := fixedFields[w.Kind.GroupKind().String()]
	for _, path := range rules.paths {
		if path == "spec.completions" && text(w.Before, "spec", "completionMode") == "Indexed" || path == "spec.template" && at(w.Before, "spec", "suspend") == true {
			continue // can be changed in some cases
		}
		keys := strings.Split(path, ".")
		before, after := orDefault(at(w.Before, keys...), rules.byDefault[path]), orDefault(at(w.After, keys...), rules.byDefault[path])
		if after != nil && w.changed(before, after) {
			errs = append(errs, field.Invalid(field.NewPath(keys[0], keys[1:]...), after, "field is immutable"))
		}
	}
	if rules.below != "" && w.changed(without(w.Before, rules), without(w.After, rules)) {
		errs = append(errs, field.Forbidden(field.NewPath(rules.below), rules.text))
	}
	return append(errs, w.frozen()...)
}

func orDefault(v, byDefault any) any {
	if v == nil {
		return byDefault
	}
	return v
}

func without(content map[string]any, rules fixed) any {
	below := maps.Clone(part(content, rules.below))
	maps.DeleteFunc(below, func(name string, _ any) bool { return slices.Contains(rules.but, name) })
	if below == nil {
		return nil
	}
	return below
}

// frozen returns the errors of fields that can only be changed under conditions.
func (w Write) frozen() field.ErrorList {
	var errs field.ErrorList
	before, after := part(w.Before, "spec"), part(w.After, "spec")
	switch w.Kind.GroupKind().String() {
	case "ConfigMap", "Secret":
		if w.Before["immutable"] != true {
			break
		}
		for _, name := range []string{"data", "stringData", "binaryData", "immutable"} {
			if w.changed(w.Before[name], w.After[name]) {
				errs = append(errs, field.Forbidden(field.NewPath(name), "field is immutable when `immutable` is set"))
			}
		}
	case "Service":
		ip := text(before, "clusterIP")
		if ip != "" && text(before, "type") != "ExternalName" && text(after, "type") != "ExternalName" && after["clusterIP"] != nil && text(after, "clusterIP") != ip {
			errs = append(errs, field.Invalid(field.NewPath("spec", "clusterIPs").Index(0), text(after, "clusterIP"), "may not change once set"))
		}
	case "PersistentVolumeClaim":
		errs = w.frozenClaim(before, after)
	case "Job.batch":
		if at(before, "completionMode") == "Indexed" && w.changed(before["completions"], after["completions"]) && fmt.Sprint(after["completions"]) != fmt.Sprint(after["parallelism"]) {
			errs = append(errs, field.Invalid(field.NewPath("spec", "completions"), after["completions"], "can only be modified in tandem with spec.parallelism"))
		}
	case "Pod":
		if w.changed(containersOf(before), containersOf(after)) {
			errs = append(errs, field.Forbidden(field.NewPath("spec"), fixedFields["Pod"].text))
		}
	}
	return errs
}

func (w Write) frozenClaim(before, after map[string]any) field.ErrorList {
	old, now := at(before, "resources", "requests", "storage"), at(after, "resources", "requests", "storage")
	switch {
	case more(old, now):
		return field.ErrorList{field.Forbidden(field.NewPath("spec", "resources", "requests", "storage"), "field can not be less than status.capacity")}
	case before["volumeName"] != nil && w.changed(before["volumeName"], after["volumeName"]), more(now, old) && text(w.Before, "status", "phase") != "Bound":
		return field.ErrorList{field.Forbidden(field.NewPath("spec"), fixedFields["PersistentVolumeClaim"].text)}
	}
	return nil
}

// containersOf returns the containers of a Pod without the fields that can be changed.
func containersOf(spec map[string]any) any {
	var out []any
	for _, group := range []string{"initContainers", "containers"} {
		for _, each := range list(spec, group) {
			each = maps.Clone(each)
			delete(each, "image")
			out = append(out, each)
		}
	}
	if out == nil {
		return nil
	}
	return out
}

// defaulted are fields that the server sets if they are removed, possibly to what they were.
var defaulted = map[string]bool{
	"apiGroup": true, "apiVersion": true, "completionMode": true, "defaultMode": true, "dnsPolicy": true, "failureThreshold": true, "imagePullPolicy": true, "operator": true,
	"periodSeconds": true, "podManagementPolicy": true, "protocol": true, "restartPolicy": true, "scheme": true, "schedulerName": true, "securityContext": true, "serviceAccount": true,
	"serviceAccountName": true, "status": true, "successThreshold": true, "terminationGracePeriodSeconds": true, "terminationMessagePath": true, "terminationMessagePolicy": true, "timeoutSeconds": true,
	"type": true, "volumeMode": true,
}

// changed reports whether a field was certainly changed. Without w.Whole, a server may have set fields of before that after does not have, and a field
// that before does not have at all is unknown.
func (w Write) changed(before, after any) bool {
	if w.Whole || after == nil {
		return !covers(before, after, nil) || w.Whole && !covers(after, before, defaulted)
	}
	return before != nil && !covers(before, after, nil)
}

// covers reports whether content has all fields of part but those with optional names, with the same values.
func covers(content, part any, optional map[string]bool) bool {
	switch part := part.(type) {
	case map[string]any:
		return coversMap(content, part, optional)
	case []any:
		there, _ := content.([]any)
		if len(there) != len(part) {
			return false
		}
		for i := range part {
			if !covers(there[i], part[i], optional) {
				return false
			}
		}
		return true
	case nil:
		return true
	}
	return reflect.DeepEqual(content, part) || content != nil && fmt.Sprint(content) != "" && object.SameQuantity(content, part)
}

func coversMap(content any, part map[string]any, optional map[string]bool) bool {
	there, _ := content.(map[string]any)
	for name, v := range part {
		if there[name] == nil && optional[name] {
			continue
		}
		if !covers(there[name], v, optional) {
			return false
		}
	}
	return there != nil || len(part) == 0
}
