package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/document"
	"github.com/templater-dev/templater/internal/render/syntax"
)

const benchConfigMap = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .metadata.name }}
  labels: {{ .metadata.labels }}
data:
  sleep: {{ .spec.sleepytime | quote }}
`

const benchPod = `apiVersion: v1
kind: Pod
metadata:
  name: {{ .metadata.name }}
  labels:
    app: {{ index .metadata.labels "app" | default "none" }}
spec:
  restartPolicy: Never
  containers:
  - name: simple
    image: busybox
    imagePullPolicy: IfNotPresent
    command: ["sh", "-x", "-c"]
    args:
    - |
      echo starting {{ .metadata.name | shellQuote }}
      sleep {{ .spec.sleepytime | default 0 }}
`

func benchInput() *Input {
	return &Input{Parent: map[string]any{
		"apiVersion": "example.org/v1", "kind": "SimpleDeployment",
		"metadata": map[string]any{"name": "example-01", "namespace": "default", "uid": "u", "resourceVersion": "1",
			"managedFields": []any{}, "labels": map[string]any{"app": "simple-app"}},
		"spec": map[string]any{"sleepytime": "120", "replicas": int64(10)},
	}}
}

func benchTemplates() map[string]string {
	return map[string]string{
		"ConfigMap":   benchConfigMap,
		"Pod":         benchPod,
		"10Documents": "{{ range $i := until 10 }}---\n" + strings.ReplaceAll(strings.ReplaceAll(benchPod, "{{ .", "{{ $."), "{{ index .", "{{ index $.") + "{{ end }}",
	}
}

func BenchmarkCompile(b *testing.B) {
	for name, text := range benchTemplates() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Compile(Source{Children: []syntax.Template{{Name: "x", Text: text}}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkChild(b *testing.B) {
	in := benchInput()
	for name, text := range benchTemplates() {
		p, err := Compile(Source{Children: []syntax.Template{{Name: "x", Text: text}}})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Child("x", in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkUnseen renders output that was not seen before each time.
func BenchmarkUnseen(b *testing.B) {
	in := benchInput()
	for name, text := range benchTemplates() {
		p, err := Compile(Source{Children: []syntax.Template{{Name: "x", Text: text}}})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.children["x"].shapes = document.Shapes{}
				if _, err := p.Child("x", in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchStatus is a status of the children named x.
const benchStatus = `{children: {{ collect "metadata.uid" .children.x }}, running: {{ where "status.phase" "Running" .children.x | len }}}`

// benchPods returns an Input's Observed of a hundred Pods.
func benchPods(versions bool) func(string) ([]map[string]any, error) {
	var pods []map[string]any
	for i := range 100 {
		metadata := map[string]any{"name": fmt.Sprint("p-", i), "uid": fmt.Sprint("u-", i)}
		if versions {
			metadata["resourceVersion"] = "1"
		}
		pods = append(pods, map[string]any{"metadata": metadata, "status": map[string]any{"phase": "Running"}})
	}
	return func(string) ([]map[string]any, error) { return pods, nil }
}

// BenchmarkStatus renders a status from a hundred children, with and without
// the fields that templates must not see.
func BenchmarkStatus(b *testing.B) {
	p, err := Compile(Source{Children: []syntax.Template{{Name: "x"}}, Status: benchStatus})
	if err != nil {
		b.Fatal(err)
	}
	for name, versions := range map[string]bool{"Versions": true, "NoVersions": false} {
		in := benchInput()
		in.Observed = benchPods(versions)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Status(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkExhaustion measures how long it takes to stop templates that would
// never end.
func BenchmarkExhaustion(b *testing.B) {
	in := &Input{Parent: map[string]any{"spec": map[string]any{"laughs": laughs, "merges": laughingMerges}}}
	for why, text := range exhausting {
		p, err := Compile(Source{Children: []syntax.Template{{Name: "x", Text: text}}})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(why, func(b *testing.B) {
			for b.Loop() {
				if _, err := p.Child("x", in); err == nil {
					b.Fatal("no error")
				}
			}
		})
	}
}
