// Package config tests that the parts of the installation fit together.
package config

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/templater-dev/templater/internal/operator/health"
)

// load reads the first object of a file, and refuses fields that it does not have.
func load(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(text, []byte("\n---\n"))
	if err := yaml.UnmarshalStrict(first, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func deployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	var d appsv1.Deployment
	load(t, "manager/deployment.yaml", &d)
	return &d
}

func TestGOMEMLIMITIsBelowMemoryLimit(t *testing.T) {
	container := deployment(t).Spec.Template.Spec.Containers[0]
	limit := container.Resources.Limits.Memory().Value()
	for _, env := range container.Env {
		if env.Name != "GOMEMLIMIT" {
			continue
		}
		soft, err := resource.ParseQuantity(strings.TrimSuffix(env.Value, "B"))
		if err != nil {
			t.Fatal(err)
		}
		if share := float64(soft.Value()) / float64(limit); share < 0.88 || share > 0.92 {
			t.Errorf("GOMEMLIMIT is %.2f of the limit on memory, want nine tenths", share)
		}
		return
	}
	t.Error("GOMEMLIMIT is not set")
}

func TestSelectorsMatchOperatorPods(t *testing.T) {
	d := deployment(t)
	var budget policyv1.PodDisruptionBudget
	load(t, "manager/disruption.yaml", &budget)
	var service corev1.Service
	load(t, "prometheus/service.yaml", &service)
	selectors := map[string]*metav1.LabelSelector{
		"Deployment": d.Spec.Selector, "PodDisruptionBudget": budget.Spec.Selector, "Service": {MatchLabels: service.Spec.Selector},
	}
	for _, spread := range d.Spec.Template.Spec.TopologySpreadConstraints {
		selectors["spread over "+spread.TopologyKey] = spread.LabelSelector
	}
	for name, one := range selectors {
		selector, err := metav1.LabelSelectorAsSelector(one)
		if err != nil {
			t.Fatal(err)
		}
		if selector.Empty() || !selector.Matches(labels.Set(d.Spec.Template.Labels)) {
			t.Errorf("%s: the selector %s does not select the Pods", name, selector)
		}
	}
}

// The policy cannot look up which account the operator has.
func TestPolicyNamesOperatorServiceAccount(t *testing.T) {
	var account corev1.ServiceAccount
	load(t, "rbac/account.yaml", &account)
	spec := deployment(t).Spec.Template.Spec
	if spec.ServiceAccountName != account.Name {
		t.Errorf("the Deployment runs as %s, want %s", spec.ServiceAccountName, account.Name)
	}
	policy, err := os.ReadFile("policy/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if want := "{'': '" + account.Namespace + "/" + account.Name + "'}"; !strings.Contains(string(policy), want) {
		t.Errorf("the policy does not know %s", want)
	}
}

// What the operator may do by itself is small, and stays so.
func TestOperatorPermissionsAreMinimal(t *testing.T) {
	var role rbacv1.ClusterRole
	load(t, "rbac/operator.yaml", &role)
	allowed := map[string]string{
		"templatecontrollers":                  "get list watch patch",
		"templatecontrollers/status":           "patch",
		"namespacedtemplatecontrollers":        "get list watch patch",
		"namespacedtemplatecontrollers/status": "patch",
		"templaterevisions":                    "get list create patch delete",
		"customresourcedefinitions":            "get list watch",
		"namespaces":                           "get list watch",
		"events":                               "create patch",
		"serviceaccounts":                      "get",
		// Its own alone: see TestOperatorAccessesOnlyOwnWebhook.
		"validatingwebhookconfigurations": "list patch watch",
	}
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			if got := strings.Join(rule.Verbs, " "); got != allowed[resource] {
				t.Errorf("%s: the operator may %s, want %q", resource, got, allowed[resource])
			}
		}
	}
}

// A Lease of another name is nothing to the operator, and neither is another Secret.
func TestOperatorAccessesOnlyOwnLeaseAndSecrets(t *testing.T) {
	var role rbacv1.Role
	load(t, "rbac/lease.yaml", &role)
	own := map[string]string{"leases": "templater", "secrets": "templater-seal templater-webhook"}
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			verbs, names := strings.Join(rule.Verbs, " "), strings.Join(rule.ResourceNames, " ")
			if names != own[resource] && (resource != "leases" || verbs != "create") {
				t.Errorf("the operator may %s the %s %q, want its own alone", verbs, resource, names)
			}
		}
	}
}

var platforms = regexp.MustCompile(`(?m)^PLATFORMS +\?= (\S+)$`)

func TestNodeAffinityMatchesImagePlatforms(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	want := platforms.FindSubmatch(makefile)
	var got []string
	terms := deployment(t).Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	os, arch := terms[0].MatchExpressions[0], terms[0].MatchExpressions[1]
	for _, one := range arch.Values {
		got = append(got, os.Values[0]+"/"+one)
	}
	if len(terms) != 1 || os.Key != corev1.LabelOSStable || arch.Key != corev1.LabelArchStable || len(os.Values) != 1 || want == nil || strings.Join(got, ",") != string(want[1]) {
		t.Errorf("the Pods go to %v by %s and %s; the image is built for %q", got, os.Key, arch.Key, want)
	}
}

// kustomize build leaves out a file that nobody names. What is in schema is for editors.
func TestKustomizationsListAllFiles(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(path, "samples") || strings.HasPrefix(path, "schema") {
			return err
		}
		if name := entry.Name(); strings.Contains(path, "/") && name != "kustomization.yaml" {
			list, err := os.ReadFile(filepath.Join(filepath.Dir(path), "kustomization.yaml"))
			if err != nil {
				return err
			}
			if !strings.Contains(string(list), name) {
				t.Errorf("%s is not in its kustomization.yaml", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// The alert, the dashboard and the liveness probe are about the same watches.
func TestStuckWatchThresholdsMatch(t *testing.T) {
	for file, text := range map[string]string{
		"prometheus/rules.yaml":  fmt.Sprintf("> %d\n", int(health.WatchLimit.Seconds())),
		"grafana/dashboard.json": fmt.Sprintf("More than %d minutes indicate a stuck watch", int(health.WatchLimit.Minutes())),
	} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), text) {
			t.Errorf("%s does not say %q", file, text)
		}
	}
}
