package scaffold

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/lint/manifest"
)

const objects = `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: old}
spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], selector: {app: web}, ports: [{name: web, port: 80, nodePort: 30001, targetPort: web}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: web, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {volumeName: pvc-1, accessModes: [ReadWriteOnce]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: web, labels: {controller-uid: "1"}}
spec:
  selector: {matchLabels: {batch.kubernetes.io/controller-uid: "1"}}
  template:
    metadata: {labels: {batch.kubernetes.io/controller-uid: "1", app: web}}
    spec:
      serviceAccountName: web
      volumes: [{name: web, persistentVolumeClaim: {claimName: web}}]
      containers:
      - name: web
        ports: [{name: web, containerPort: 80}]
        readinessProbe: {httpGet: {port: web}}
        env:
        - {name: A, valueFrom: {configMapKeyRef: {name: web, key: web}}}
        - {name: B, value: "http://web.old.svc/"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {web: web}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: agent, namespace: old}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: web}
subjects: [{kind: ServiceAccount, name: agent, namespace: old}, {kind: ServiceAccount, name: web, namespace: old}]
---
apiVersion: v1
kind: Pod
metadata: {name: debug}
spec:
  nodeName: node-1
  volumes: [{name: kube-api-access-x, projected: {}}]
  initContainers: [{name: init, image: a, volumeMounts: [{name: kube-api-access-x, mountPath: /var/run}]}]
  containers: [{name: web, image: a, volumeMounts: [{name: kube-api-access-x, mountPath: /var/run}, {name: scratch, mountPath: /tmp}]}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec: {volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}, status: {phase: Pending}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {tls: [{hosts: [a.example.org], secretName: web}], rules: [{host: a.example.org, http: {paths: [{backend: {service: {name: web, port: {name: web}}}}]}}]}
`

// TestDerivedNamesInReferences: names are derived where a field names an object that is given, and nowhere else. What the server fills in is gone.
func TestDerivedNamesInReferences(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte(objects), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := manifest.Load([]string{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := FromManifests(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Web"}, set.Objects, false)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, f := range result.Files {
		if f.Name == "templatecontroller.yaml" {
			got = strings.Join(strings.Fields(f.Content), " ")
		}
	}
	for _, unwanted := range []string{"clusterIP", "nodePort", "volumeName", "bind-completed", "controller-uid", "nodeName", "kube-api-access", "volumes: []", "Pending"} {
		if strings.Contains(got, unwanted) {
			t.Errorf("unexpected %s", unwanted)
		}
	}
	for _, want := range []string{
		"mountPath: /tmp name: scratch", "targetPort: web", "claimName: {{ .metadata.name }}", "serviceAccountName: web", "httpGet: port: web", "configMapKeyRef: key: web name: {{ .metadata.name }}",
		"data: web: web", "kind: ClusterRole name: web", "name: {{ .metadata.name }}-agent namespace: {{ .metadata.namespace }}", "name: web namespace: old",
		"secretName: web", "service: name: {{ .metadata.name }} port: name: web", "- hosts: - {{ .spec.host }}", "selector: app: {{ .metadata.name | dnsLabel }}",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
	var notes []string
	for _, n := range result.Notes {
		notes = append(notes, n.Message)
	}
	const tail = " contains web and is unchanged: if that is the name of the object, use the parent's name there"
	const shared = "spec.tls[].secretName holds web and is unchanged, so all parents share this Secret: to give each its own, use the parent's name there"
	if want := "spec.template.spec.containers[].env[].value" + tail + "\ndata.web" + tail + "\n" + shared; strings.Join(notes, "\n") != want {
		t.Errorf("got notes\n%s", strings.Join(notes, "\n"))
	}
}
