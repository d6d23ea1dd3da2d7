package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/cli"
)

// TestLintUsesClusterSchemas finds an unknown field of a kind whose schema exists only in the cluster.
func TestLintUsesClusterSchemas(t *testing.T) {
	const document = `{"openapi": "3.0.0", "components": {"schemas": {"com.example.v1.App": {
		"type": "object", "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "App"}],
		"properties": {"metadata": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}, "spec": {"type": "object", "properties": {"text": {"type": "string"}}}}}}}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/openapi/v3":
			_, _ = w.Write([]byte(`{"paths": {"apis/example.com/v1": {"serverRelativeURL": "/openapi/v3/apis/example.com/v1?hash=1"}}}`))
		case "/openapi/v3/apis/example.com/v1":
			_, _ = w.Write([]byte(document))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	config := filepath.Join(t.TempDir(), "config")
	text := `{"apiVersion": "v1", "kind": "Config", "current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "c"}}], "clusters": [{"name": "c", "cluster": {"server": "` + server.URL + `"}}]}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	root := newCommand("templater")
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetIn(strings.NewReader(`{apiVersion: templater.dev/v1, kind: TemplateController, metadata: {name: a}, spec: {
  watch: {apiVersion: example.com/v1, kind: App}, children: [{name: a, template: "a: {{ .spec.txet }}"}]}}`))
	root.SetArgs([]string{"lint", "-", "--cluster", "--kubeconfig", config})
	if err := root.ExecuteContext(t.Context()); !errors.Is(err, cli.Findings) {
		t.Error(err)
	}
	if got := out.String(); !strings.Contains(got, "App has no field .spec.txet; did you mean text? [TL030]") || strings.Contains(got, "no schema for") {
		t.Errorf("got %s", got)
	}
}
