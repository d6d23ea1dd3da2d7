package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// createOnly are objects of many kinds that run no Pods. The volume has its own class: a claim bound to it, of this or
// another test, would block its deletion.
const createOnly = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: it}}
---
{apiVersion: v1, kind: Secret, metadata: {name: it}, stringData: {a: b}}
---
{apiVersion: v1, kind: Service, metadata: {name: it}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: it}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: it}
spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Mi}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: it}, spec: {nodeSelector: {no: node}, containers: [{name: a, image: a}]}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: it}, spec: {hard: {pods: "100"}}}
---
{apiVersion: v1, kind: LimitRange, metadata: {name: it}, spec: {limits: []}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: it}
spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: it}
spec: {replicas: 0, serviceName: it, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: it}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {nodeSelector: {no: node}, containers: [{name: a, image: a}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: it}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: it}
spec: {suspend: true, schedule: "0 0 1 1 *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: it}, spec: {defaultBackend: {service: {name: it, port: {number: 80}}}}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: it}, spec: {podSelector: {}}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: it}, addressType: IPv4, endpoints: []}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: it}, rules: []}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: it}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: it}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: it}, spec: {maxUnavailable: 1, selector: {matchLabels: {a: b}}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: it}
spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}}
---
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: it}}
---
{apiVersion: "@group/v1", kind: Thing, metadata: {name: it}, spec: {color: red}}
---
{apiVersion: "@group/v1", kind: Planet, metadata: {name: it}, spec: {color: red}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: "@id-it"}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "@id-it"}, rules: []}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: "@id-it"}, value: 1}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: "@id-it"}, provisioner: example.org/none}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: "@id-it"}
spec: {capacity: {storage: 1Mi}, accessModes: [ReadWriteOnce], storageClassName: "@id-volume", hostPath: {path: /none}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: "its.@group"}
spec:
  group: "@group"
  scope: Cluster
  names: {kind: It, plural: its, singular: it}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: "@id-it"}
spec: {watch: {apiVersion: "@group/v1", kind: Thing}, children: [{name: a, template: "{}"}]}
`

// TestApplyWithUnusedResourceVersionOnlyCreates verifies an assumption of child creation that Kubernetes does not
// guarantee: an apply with a resource version that no object has creates a missing object, and changes no existing one.
func TestApplyWithUnusedResourceVersionOnlyCreates(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	s.define("Planet", "Cluster")
	for text := range strings.SplitSeq(s.expand(createOnly), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		in, mapping, err := s.interfaceFor(o)
		if err != nil {
			t.Fatal(err)
		}
		if o.GetNamespace() == "" {
			s.own(mapping.Resource, o.GetName())
		}
		t.Run(o.GetKind(), func(t *testing.T) { s.at(t).createsOnly(in, mapping, o) })
	}
}

func (s *scope) createsOnly(in dynamic.ResourceInterface, mapping *meta.RESTMapping, o *unstructured.Unstructured) {
	o.SetResourceVersion("1")
	if code, err := s.applied(mapping, o, "first"); err != nil || code != http.StatusCreated {
		s.t.Fatalf("of an absent object: %d %v, want 201 Created", code, err)
	}
	first := waitFor(s.t, in, o.GetName(), nil)
	another := o.DeepCopy()
	another.SetLabels(map[string]string{"from": "another"})
	for _, row := range []struct {
		what, manager string
		o             *unstructured.Unstructured
	}{
		{"the same once more", "first", o},
		{"another one by the same manager", "first", another},
		{"the same by another manager", "second", o},
		{"another one by another manager", "second", another},
	} {
		code, err := s.applied(mapping, row.o, row.manager)
		if code != http.StatusConflict || !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			s.t.Errorf("%s: %d %v, want 409 Conflict or AlreadyExists", row.what, code, err)
		}
	}
	if err := unapplied(first, waitFor(s.t, in, o.GetName(), nil)); err != nil {
		s.t.Error(err)
	}
}

// applied makes the same request as templater for a new child, and returns the status code.
func (s *scope) applied(mapping *meta.RESTMapping, o *unstructured.Unstructured, manager string) (code int, err error) {
	body, err := o.MarshalJSON()
	if err != nil {
		return 0, err
	}
	request := env.clientset.Discovery().RESTClient().Patch(types.ApplyPatchType)
	if mapping.Resource.Group == "" {
		request.AbsPath("/api", mapping.Resource.Version)
	} else {
		request.AbsPath("/apis", mapping.Resource.Group, mapping.Resource.Version)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		request.Namespace(o.GetNamespace())
	}
	result := request.Resource(mapping.Resource.Resource).Name(o.GetName()).
		Param("fieldManager", manager).Param("force", "true").Param("fieldValidation", metav1.FieldValidationStrict).Body(body).Do(s.t.Context())
	result.StatusCode(&code)
	return code, result.Error()
}

// unapplied returns an error if an apply changed the object. Without other writers, a new resource version shows that.
func unapplied(before, after *unstructured.Unstructured) error {
	if before.GetResourceVersion() == after.GetResourceVersion() {
		return nil
	}
	managers := func(o *unstructured.Unstructured) []string {
		var out []string
		for _, entry := range o.GetManagedFields() {
			if entry.Operation == metav1.ManagedFieldsOperationApply {
				out = append(out, fmt.Sprintf("%s at %s of %s", entry.Manager, entry.Time, entry.FieldsV1.GetRawString()))
			}
		}
		slices.Sort(out)
		return out
	}
	return errors.Join(same("UID", before.GetUID(), after.GetUID()), same("label", before.GetLabels()["from"], after.GetLabels()["from"]), same("managers", managers(before), managers(after)))
}
