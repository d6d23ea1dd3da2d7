package scaffold

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/lint/manifest"
)

var update = flag.Bool("update", false, "write the golden files anew")

var shop = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Shop"}

// load returns the objects of a text.
func load(t *testing.T, text string) []*manifest.Object {
	t.Helper()
	set, err := manifest.Load([]string{manifest.Stdin}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return set.Objects
}

// content returns the object of a text.
func content(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

const apps = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: apps.example.org}
spec:
  group: example.org
  scope: Cluster
  names: {kind: App, plural: apps}
  versions:
  - name: v1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {old: {type: string}}}}}}
  - name: v2
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: string}, name: {type: string}}}, status: {type: object, properties: {phase: {type: string}}}, other: {type: object, properties: {no: {type: string}}}}}}
`

// many are objects with all that is lifted, and names that are taken.
const many = `
{apiVersion: kustomize.config.k8s.io/v1beta1, kind: Kustomization, resources: [a.yaml]}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  uid: u
  generation: 2
  annotations: {deployment.kubernetes.io/revision: "1", kubectl.kubernetes.io/last-applied-configuration: "{}"}
spec:
  replicas: 3
  selector: {matchExpressions: [{key: app, operator: In, values: [web]}]}
  template:
    metadata: {labels: {app: web}}
    spec:
      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [web]}]}]}}}
      imagePullSecrets: [{name: web-pull}]
      containers:
      - {name: web, image: nginx, envFrom: [{secretRef: {name: web-pull}}], args: ["--peer=web-db,web-db"]}
      - {name: side-car, image: busybox}
status: {replicas: 3}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web-db}, spec: {replicas: 1, selector: {matchLabels: {app: web-db}}, template: {spec: {containers: [{name: db, image: "[[ postgres ]] {{ x }}"}]}}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web.db2}, spec: {replicas: 2, template: {spec: {containers: [{name: db, image: mysql}]}}}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: web}, spec: {template: {spec: {containers: [{name: a-b, image: one}, {name: a--b, image: two}, {name: a---b, image: three}, {name: a----b, image: four}, {name: a-b-, image: four}]}}}}
---
{apiVersion: batch/v1, kind: CronJob, metadata: {name: webhook}, spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: nginx}]}}}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: a, image: nginx}]}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: web}, spec: {resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web-data}, spec: {replicas: 3, volumeClaimTemplates: [{spec: {resources: {requests: {storage: 2Gi}}}}]}}
---
{apiVersion: v1, kind: Secret, metadata: {name: web-pull}, stringData: {user: web}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web}, spec: {tls: [{hosts: [a.example.org, b.example.org]}], rules: [{host: a.example.org}, {host: b.example.org}]}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: web}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: NodePort, healthCheckNodePort: 30002, ports: [{port: 80, nodePort: 30001}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: web-db}, spec: {clusterIP: None}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: web-once, labels: {job-name: x, mine: a}}, spec: {manualSelector: true, selector: {matchLabels: {controller-uid: a}}, template: {metadata: {labels: {controller-uid: a}}}}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}
---
{apiVersion: example.org/v1, kind: Gate, metadata: {name: web, namespace: old}, spec: {rules: [{host: c.example.org}], values: [web], selector: [{app: web}], empty: "", ref: {kind: Service, name: web, namespace: old}, other: {kind: Service, name: web, namespace: other}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {generateName: web-once-}, spec: {suspend: true}}
---
{apiVersion: v1, kind: Pod, metadata: {labels: {empty: ""}}}
---
{apiVersion: v1, kind: ConfigMap}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: web}, rules: [{apiGroups: [""], resources: [secrets], resourceNames: [web-pull], verbs: [get]}]}
`

// TestScaffoldedFilesMatchGoldenFiles compares all that is written with testdata/NAME.txtar.
func TestScaffoldedFilesMatchGoldenFiles(t *testing.T) {
	for name, make := range map[string]func() (*Result, error){
		"fresh": func() (*Result, error) { return Fresh(shop, false) },
		"watching": func() (*Result, error) {
			return Watching(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, nil)
		},
		"watching-its-children": func() (*Result, error) {
			return Watching(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, nil)
		},
		"watching-cluster": func() (*Result, error) { return Watching(schema.GroupVersionKind{Version: "v1", Kind: "Node"}, nil) },
		"watching-defined": func() (*Result, error) {
			return Watching(schema.GroupVersionKind{Group: "example.org", Version: "v2", Kind: "App"}, content(t, apps))
		},
		"manifests": func() (*Result, error) { return FromManifests(shop, load(t, many), false) },
		"manifests-order": func() (*Result, error) {
			return FromManifests(shop, load(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: web-db}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: web}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: api}}"), false)
		},
		"manifests-nothing": func() (*Result, error) {
			return FromManifests(shop, load(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"), false)
		},
		"manifests-braces": func() (*Result, error) {
			return FromManifests(shop, load(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {b: '{{ c }}'}}"), false)
		},
		"manifests-all-used": func() (*Result, error) {
			return FromManifests(shop, load(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {b: '{{ [[ <% <%0'}}"), false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := make()
			if err != nil {
				t.Fatal(err)
			}
			got := &txtar.Archive{}
			for _, n := range result.Notes {
				got.Comment = append(got.Comment, n.String()+"\n"...)
			}
			for _, f := range result.Files {
				got.Files = append(got.Files, txtar.File{Name: f.Name, Data: []byte(f.Content)})
			}
			file := filepath.Join("testdata", name+".txtar")
			if *update {
				if err := os.WriteFile(file, txtar.Format(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(txtar.Format(got))); diff != "" {
				t.Errorf("-want +got; go test -update writes it:\n%s", diff)
			}
		})
	}
}

func TestInvalidKindsAreRejected(t *testing.T) {
	long := strings.Repeat("x", 63)
	for gvk, want := range map[schema.GroupVersionKind]string{
		{Group: "example.org", Version: "v1", Kind: "S" + long[1:]}: "",
		{Group: "example.org", Version: "v1", Kind: "S" + long}:     `--kind "S` + long + `": use a name such as Shop: a capital letter, then letters and digits, at most 63 characters`,
		{Group: "example.org", Version: "v1", Kind: "My-Shop"}:      `--kind "My-Shop": use a name such as Shop: a capital letter, then letters and digits, at most 63 characters`,
		{Group: "shops", Version: "v1", Kind: "Shop"}:               `--group "shops": use a domain that you own, such as shops.example.org`,
		{Group: "Example.org", Version: "v1", Kind: "Shop"}:         `--group "Example.org": use a domain that you own, such as shops.example.org`,
		{Group: "example.org", Version: "1", Kind: "Shop"}:          `--version "1": use a version such as v1 or v1alpha1`,
	} {
		got := ""
		if _, err := Fresh(gvk, false); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", gvk, got, want)
		}
		_, err := FromManifests(gvk, load(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"), false)
		if got = ""; err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("of manifests, %s: got %q, want %q", gvk, got, want)
		}
	}
}

// What no API server takes is taken as it is, and lint tells.
func TestMalformedObjectsAreConverted(t *testing.T) {
	for _, text := range []string{
		"{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a}, spec: {tls: [{hosts: [{a: b}]}, c], rules: [{host: {a: b}}, d]}}",
		"{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a}, spec: {tls: e, rules: [f]}}",
		"{apiVersion: v1, kind: Pod, metadata: [], spec: {volumes: [a], containers: [b, {volumeMounts: c}]}}",
		"{apiVersion: v1, kind: Pod, metadata: {name: 7, annotations: d}, spec: e}",
		"{apiVersion: v1, kind: Service, spec: {ports: [f]}}",
		"{apiVersion: apps/v1, kind: StatefulSet, spec: {volumeClaimTemplates: [g, {spec: h}]}}",
		"{apiVersion: batch/v1, kind: Job, spec: {template: i}}",
	} {
		if _, err := FromManifests(shop, load(t, text), false); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestInvalidSourcesAreRejected(t *testing.T) {
	if _, err := FromManifests(shop, load(t, "{apiVersion: kustomize.config.k8s.io/v1beta1, kind: Kustomization}"), false); err == nil || err.Error() != "no object to convert to a template" {
		t.Errorf("got error %v", err)
	}
	if _, err := Watching(shop, nil); err == nil {
		t.Error("an unknown kind is watched")
	}
	gvk, err := kind.Stored(content(t, apps))
	if err != nil || gvk.Version != "v2" || gvk.Kind != "App" || gvk.Group != "example.org" {
		t.Errorf("got %s and error %v", gvk, err)
	}
	for _, unserved := range []string{strings.ReplaceAll(apps, "served: true", "served: false"), strings.ReplaceAll(apps, "storage: true", "storage: false")} {
		if gvk, err := kind.Stored(content(t, unserved)); err == nil || err.Error() != "the CustomResourceDefinition does not serve its storage version" {
			t.Errorf("got %s and error %v", gvk, err)
		}
	}
}

func TestChildTemplateNames(t *testing.T) {
	for text, want := range map[string]string{
		"": "entry", "web": "web", "Web": "web", "my-web app": "myWebApp", "3scale": "n3scale", "-a_B": "aB", "-ab": "ab", "größe": "grE", "é": "entry", "a1-2b": "a12b",
		strings.Repeat("x", 60): strings.Repeat("x", 60), strings.Repeat("x", 61): strings.Repeat("x", 60),
	} {
		if got := EntryName(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	taken := map[string]bool{}
	for _, want := range []string{"a", "a2", "a3"} {
		if got := Unique("a", taken); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestNoteStringIncludesPosition(t *testing.T) {
	for want, n := range map[string]Note{"a: b": {File: "a", Message: "b"}, "a:1: b": {File: "a", Line: 1, Message: "b"}} {
		if got := n.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Texts come back as they were, whatever they hold.
func TestGeneratedYAMLPreservesText(t *testing.T) {
	for given, text := range map[string]string{
		"a\n": "a\n", "\n\na\n": "\n\na\n", "  a\nb\n": "  a\nb\n", "\n  a\n": "\n  a\n", "a\n\n  b\n": "a\n\n  b\n", "a\x00\u2028b\n": "a\x00\u2028b\n", "\ta\n": "\ta\n",
		"a": "a\n", "a\n\n": "a\n", // it ends with one line end
	} {
		c := Controller{Name: "a", GVK: shop, Values: map[string]any{"a": given}, Helpers: given, Left: "'{", Right: "}'", Status: given, Children: []Child{{Name: "on", Template: given, Cluster: true, Keep: true, Comment: "one\ntwo"}}, Finals: []Child{{Name: "b", Template: given}}}
		var got struct {
			Spec struct {
				Values     map[string]string
				Helpers    string
				Delimiters struct{ Left, Right string }
				Children   []struct{ Name, Template, Scope, PrunePolicy, DeletionPolicy string }
				Finalize   struct{ Children []struct{ Template string } }
				Status     struct{ Template string }
			}
		}
		if err := yaml.Unmarshal([]byte(c.YAML()), &got); err != nil {
			t.Errorf("%q: %v:\n%s", text, err, c.YAML())
			continue
		}
		s := got.Spec
		if !strings.Contains(c.YAML(), "\n  # one\n  # two\n  - name: ") {
			t.Errorf("no comment:\n%s", c.YAML())
		}
		if inBlock := strings.Contains(c.YAML(), "helpers: |"); inBlock == strings.Contains(text, "\x00") {
			t.Errorf("%q is in a block: %v", text, inBlock)
		}
		if s.Values["a"] != given || s.Helpers != text || s.Children[0].Template != text || s.Finalize.Children[0].Template != text || s.Status.Template != text {
			t.Errorf("%q is %+v", text, s)
		}
		if child := s.Children[0]; s.Delimiters.Left != "'{" || s.Delimiters.Right != "}'" || child.Name != "on" || child.Scope != "Cluster" || child.PrunePolicy != "Orphan" || child.DeletionPolicy != "Orphan" {
			t.Errorf("the rest is %+v", s)
		}
	}
}
