//go:build whole

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"
)

// TestChartInstallUpgradeUninstall installs a release with Helm on a cluster with simulated Pods, upgrades and
// uninstalls it, and then applies install.yaml.
func TestChartInstallUpgradeUninstall(t *testing.T) {
	const e2e, name = "../../e2e", "release-whole"
	command(t, e2e, nil, "go", "run", "./cluster", "up", "--name", name, "--mode", "kwok")
	t.Cleanup(func() { // t.Context() is done
		if out, err := down(e2e, name); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	kubeconfig := command(t, e2e, nil, "go", "run", "./cluster", "kubeconfig", "--name", name)
	bin, err := filepath.Abs("../../.cache/cluster/bin/kubectl")
	if err != nil {
		t.Fatal(err)
	}
	kubectl := func(args ...string) string {
		t.Helper()
		return command(t, ".", []string{"KUBECONFIG=" + kubeconfig}, append([]string{bin}, args...)...)
	}
	files := makeRelease(t, arguments(source(t, 0), t.TempDir()))
	h := newHelm(t, kubeconfig, files["templater-chart_v1.2.3.tgz"])

	h.install(t, nil)
	const deployment = "{.status.readyReplicas} {.spec.template.spec.containers[0].image}"
	image := func() string {
		return kubectl("-n", home, "get", "deployment", "templater", "-o", "jsonpath="+deployment)
	}
	if got := image(); !strings.HasPrefix(got, "2 registry.example.org/templater@sha256:") {
		t.Errorf("after the installation: got %s", got)
	}
	kubectl("apply", "-k", "../../config/samples/simpledeployment")

	h.upgrade(t, map[string]any{"replicas": 3, "image": map[string]any{"tag": "v9"}})
	if got := image(); got != "3 registry.example.org/templater:v9" {
		t.Errorf("after the upgrade: got %s", got)
	}

	h.uninstall(t)
	if got := kubectl("get", "templatecontrollers", "-o", "name"); got != "templatecontroller.templater.dev/simpledeployments" {
		t.Errorf("the removal took TemplateControllers with it: got %q", got)
	}
	if got := kubectl("get", "all,clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingwebhookconfigurations", "-A", "-l", "app.kubernetes.io/part-of=templater", "-o", "name"); got != "" {
		t.Errorf("the removal left %s", got)
	}

	h.install(t, nil) // adopts the CRD that uninstall has left
	h.uninstall(t)
	manifest := filepath.Join(t.TempDir(), installFile)
	if err := os.WriteFile(manifest, files[installFile], 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl("apply", "-f", manifest)
	kubectl("-n", home, "rollout", "status", "deployment/templater", "--timeout=60s")
	for _, file := range []string{firstFile, objectFile} {
		path := filepath.Join(t.TempDir(), file)
		if err := os.WriteFile(path, files[file], 0o600); err != nil {
			t.Fatal(err)
		}
		kubectl("apply", "-f", path)
		kubectl("wait", "crd/simpledeployments.example.org", "--for=condition=Established", "--timeout=60s")
	}
}

const home = "templater-system"

type helm struct {
	configuration *action.Configuration
	chart         []byte
}

func newHelm(t *testing.T, kubeconfig string, chart []byte) *helm {
	t.Helper()
	settings := cli.New()
	settings.KubeConfig = kubeconfig
	settings.SetNamespace(home)
	h := &helm{configuration: action.NewConfiguration(), chart: chart}
	if err := h.configuration.Init(settings.RESTClientGetter(), home, "secret"); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *helm) install(t *testing.T, values map[string]any) {
	t.Helper()
	c, err := loader.LoadArchive(bytes.NewReader(h.chart))
	if err != nil {
		t.Fatal(err)
	}
	a := action.NewInstall(h.configuration)
	a.ReleaseName, a.Namespace, a.CreateNamespace, a.Timeout, a.WaitStrategy = "templater", home, true, time.Minute, kube.StatusWatcherStrategy
	if _, err := a.RunWithContext(t.Context(), c, values); err != nil {
		t.Fatalf("helm install: %v", err)
	}
}

func (h *helm) upgrade(t *testing.T, values map[string]any) {
	t.Helper()
	c, err := loader.LoadArchive(bytes.NewReader(h.chart))
	if err != nil {
		t.Fatal(err)
	}
	a := action.NewUpgrade(h.configuration)
	a.Namespace, a.Timeout, a.WaitStrategy = home, time.Minute, kube.StatusWatcherStrategy
	if _, err := a.RunWithContext(t.Context(), "templater", c, values); err != nil {
		t.Fatalf("helm upgrade: %v", err)
	}
}

func (h *helm) uninstall(t *testing.T) {
	t.Helper()
	a := action.NewUninstall(h.configuration)
	a.Timeout, a.WaitStrategy = time.Minute, kube.StatusWatcherStrategy
	if _, err := a.Run("templater"); err != nil {
		t.Fatalf("helm uninstall: %v", err)
	}
}
