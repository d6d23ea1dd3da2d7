package manifest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

var update = flag.Bool("update", false, "write the golden files")

const (
	// second is what the page adds for a second installation.
	second = "namespace: templater-b\nnameSuffix: -b\n"
)

// components returns the names of all components.
func components(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, "config", "components"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// built is the output of kustomize, by kind and name.
type built map[string]*unstructured.Unstructured

// build builds an installation with components, like a user's kustomization.yaml. more is appended to that file.
func build(t *testing.T, more string, components ...string) built {
	t.Helper()
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" + more + "resources:\n- ../templater/config/prometheus\n"
	for _, part := range []string{"manager", "rbac", "webhook"} {
		text += "- ../templater/config/" + part + "\n"
	}
	for i, name := range components {
		if i == 0 {
			text += "components:\n"
		}
		text += "- ../templater/config/components/" + name + "\n"
	}
	return kustomize(t, text)
}

// kustomize builds a kustomization.yaml in a folder next to that of templater.
func kustomize(t *testing.T, text string) built {
	t.Helper()
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(top, filepath.Join(dir, "templater")); err != nil {
		t.Fatal(err)
	}
	deploy := filepath.Join(dir, "deploy")
	if err := os.Mkdir(deploy, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(deploy, "kustomization.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), deploy)
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	out := built{}
	for _, one := range all.Resources() {
		content, err := one.Map()
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{Object: content}
		out[o.GetKind()+" "+o.GetName()] = o
	}
	return out
}

// read decodes an object strictly.
func read[T any](t *testing.T, b built, key string) *T {
	t.Helper()
	o := b[key]
	if o == nil {
		t.Fatalf("no %s", key)
	}
	into := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, into, true); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return into
}

// rights returns the permissions of a service account, one line per resource: scope, verbs, resource, and object names
// if limited.
func (b built) rights(t *testing.T, account string) []string {
	t.Helper()
	var lines []string
	for key, o := range b {
		var where, role string
		switch o.GetKind() {
		case "RoleBinding":
			binding := read[rbacv1.RoleBinding](t, b, key)
			if !subject(binding.Subjects, account) {
				continue
			}
			where, role = "in "+o.GetNamespace(), binding.RoleRef.Kind+" "+binding.RoleRef.Name
		case "ClusterRoleBinding":
			binding := read[rbacv1.ClusterRoleBinding](t, b, key)
			if !subject(binding.Subjects, account) {
				continue
			}
			where, role = "everywhere", binding.RoleRef.Kind+" "+binding.RoleRef.Name
		default:
			continue
		}
		for _, rule := range read[rbacv1.ClusterRole](t, b, role).Rules { // a Role has the same rules
			slices.Sort(rule.Verbs)
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					line := fmt.Sprintf("%s: %s %s/%s", where, strings.Join(rule.Verbs, ","), group, resource)
					for _, name := range rule.ResourceNames {
						lines = append(lines, line+" "+name)
					}
					if len(rule.ResourceNames) == 0 {
						lines = append(lines, line)
					}
				}
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// TestSecondInstallationPermissions follows the page to a second installation: it has permissions on its own Secret,
// Lease and configuration; on the keys of the first one it has only those of the role from the page.
func TestSecondInstallationPermissions(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "operate", "second-installation.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Steps\n")
	_, text, _ := strings.Cut(section, "```yaml\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("the page shows no kustomization.yaml")
	}
	got := kustomize(t, text).rights(t, "templater-b")
	for _, right := range got {
		if strings.Contains(right, "templater-seal") || strings.HasSuffix(right, " templater") || strings.HasSuffix(right, " templater-webhook") {
			t.Errorf("the second installation has a permission on objects of the first one: %s", right)
		}
	}
	for _, want := range []string{
		"in templater-b: create,list,patch,watch /secrets templater-b-webhook", "in templater-b: get,update coordination.k8s.io/leases templater-b",
		"everywhere: list,patch,watch admissionregistration.k8s.io/validatingwebhookconfigurations templater-b",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("the right %q is missing in %q", want, got)
		}
	}
	const role = "kubectl -n templater-system create role templater-b --verb=list,watch --resource=secrets --resource-name=templater-seal\n"
	if !strings.Contains(section, role) {
		t.Errorf("the page does not have %q", role)
	}
	if strings.Contains(section, "--role=templater ") {
		t.Error("the page binds the role of the first installation")
	}
}

func subject(all []rbacv1.Subject, account string) bool {
	return slices.ContainsFunc(all, func(s rbacv1.Subject) bool { return s.Kind == "ServiceAccount" && s.Name == account })
}

// TestPermissionsByComponent lists the permissions of templater's service account; the installation test compares them
// with the API server.
func TestPermissionsByComponent(t *testing.T) {
	for _, variant := range append([]string{"default"}, components(t)...) {
		var with []string
		if variant != "default" {
			with = []string{variant}
		}
		got := strings.Join(build(t, "", with...).rights(t, "templater"), "\n") + "\n"
		golden := filepath.Join("..", "testdata", "rbac", variant+".txt")
		if *update {
			if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Errorf("%v: go test ./manifest -update writes it", err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s: permissions (-golden +config); if they are intended, go test ./manifest -update:\n%s", variant, diff)
		}
	}
}

func TestFinalizersPermissionOnlyOnOpenShift(t *testing.T) {
	for _, variant := range append([]string{""}, components(t)...) {
		with := slices.DeleteFunc([]string{variant}, func(name string) bool { return name == "" })
		rights := strings.Join(build(t, "", with...).rights(t, "templater"), "\n")
		if strings.Contains(rights, "everywhere: update */*/finalizers") != (variant == "openshift") {
			t.Errorf("variant %q: the permissions are\n%s", variant, rights)
		}
	}
}

func TestOpenShiftAssignsUser(t *testing.T) {
	spec := read[appsv1.Deployment](t, build(t, "", "openshift"), "Deployment templater").Spec.Template.Spec
	c := spec.SecurityContext
	if c.RunAsUser != nil || c.RunAsGroup != nil || c.FSGroup != nil || c.RunAsNonRoot == nil || !*c.RunAsNonRoot || c.SeccompProfile == nil {
		t.Errorf("of the Pod: %+v", c)
	}
	if c := spec.Containers[0].SecurityContext; c.RunAsUser != nil || c.RunAsGroup != nil || !*c.ReadOnlyRootFilesystem {
		t.Errorf("of the container: %+v", c)
	}
}

func TestSharedClusterGrantsNoGlobalPermissions(t *testing.T) {
	b := build(t, "", "shared-cluster")
	if args := args(t, b); args[len(args)-1] != "--require-service-account" {
		t.Errorf("arguments are %v", args)
	}
	for key := range b {
		if strings.Contains(key, "children") {
			t.Errorf("unexpected %s", key)
		}
	}
	for role, verbs := range map[string][]string{"templater-viewer": {"get", "list", "watch"}, "templater-editor": {"get", "list", "watch", "create", "update", "patch", "delete"}} {
		rules := read[rbacv1.ClusterRole](t, b, "ClusterRole "+role).Rules
		if diff := cmp.Diff(verbs, rules[0].Verbs); diff != "" || rules[0].Resources[0] != "templatecontrollers" {
			t.Errorf("%s: verbs (-want +got):\n%s", role, diff)
		}
	}
}

func args(t *testing.T, b built) []string {
	t.Helper()
	return read[appsv1.Deployment](t, b, "Deployment templater").Spec.Template.Spec.Containers[0].Args
}

func TestSecureMetrics(t *testing.T) {
	b := build(t, "", "secure-metrics")
	container := read[appsv1.Deployment](t, b, "Deployment templater").Spec.Template.Spec.Containers[0]
	mounted := container.VolumeMounts[0].MountPath
	if got := container.Args; !slices.Contains(got, "--metrics-secure") || !slices.Contains(got, "--metrics-cert-dir="+mounted) {
		t.Errorf("arguments are %v, and the Secret is at %s", got, mounted)
	}
	endpoints, _, err := unstructured.NestedSlice(b["ServiceMonitor templater"].Object, "spec", "endpoints")
	if err != nil || len(endpoints) != 1 {
		t.Fatalf("endpoints %v, error %v", endpoints, err)
	}
	plain, _, err := unstructured.NestedSlice(build(t, "")["ServiceMonitor templater"].Object, "spec", "endpoints")
	if err != nil {
		t.Fatal(err)
	}
	want := plain[0].(map[string]any)
	want["scheme"], want["bearerTokenFile"], want["tlsConfig"] = "https", "/var/run/secrets/kubernetes.io/serviceaccount/token", map[string]any{"insecureSkipVerify": true}
	if diff := cmp.Diff(want, endpoints[0]); diff != "" {
		t.Errorf("endpoint (-plain and TLS +got):\n%s", diff)
	}
	reader := read[rbacv1.ClusterRole](t, b, "ClusterRole templater-metrics-reader")
	if diff := cmp.Diff([]rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}, reader.Rules); diff != "" {
		t.Errorf("rules for scraping (-want +got):\n%s", diff)
	}
}

func TestNetworkPolicySelectsOperatorPods(t *testing.T) {
	b := build(t, "", "network-policy")
	policy := read[networkingv1.NetworkPolicy](t, b, "NetworkPolicy templater").Spec
	pod := read[appsv1.Deployment](t, b, "Deployment templater").Spec.Template
	selector := labels.SelectorFromSet(policy.PodSelector.MatchLabels)
	if selector.Empty() || !selector.Matches(labels.Set(pod.Labels)) {
		t.Errorf("%s does not select the Pods", selector)
	}
	if diff := cmp.Diff([]networkingv1.PolicyType{"Ingress", "Egress"}, policy.PolicyTypes); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
	var from []string
	for _, rule := range policy.Ingress {
		for _, port := range rule.Ports {
			from = append(from, fmt.Sprintf("%s of %d", port.Port, len(rule.From)))
			if !slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == port.Port.String() }) {
				t.Errorf("the port %s is let in, which no container has", port.Port)
			}
		}
	}
	if diff := cmp.Diff([]string{"metrics of 1", "webhook of 0"}, from); diff != "" { // 0 is everyone
		t.Errorf("ports, and how many peers they are open to (-want +got):\n%s", diff)
	}
	for _, rule := range policy.Egress {
		for _, port := range rule.Ports {
			name := port.Port.String()
			toAll := name == "443" || name == "6443" // ports of an API server
			if !toAll && (name != "53" && name != "5353" || len(rule.To) == 0) {
				t.Errorf("the port %s is open to %v", name, rule.To)
			}
		}
	}
}

func TestPriorityQuotaAllowsRollout(t *testing.T) {
	b := build(t, "", "priority")
	d := read[appsv1.Deployment](t, b, "Deployment templater").Spec
	quota := read[corev1.ResourceQuota](t, b, "ResourceQuota templater").Spec
	scope := quota.ScopeSelector.MatchExpressions[0]
	if scope.ScopeName != "PriorityClass" || len(scope.Values) != 1 || scope.Values[0] != d.Template.Spec.PriorityClassName {
		t.Errorf("the quota is for %+v, the Pods are %s", scope, d.Template.Spec.PriorityClassName)
	}
	pods := quota.Hard[corev1.ResourcePods]
	if need := int64(*d.Replicas) + int64(d.Strategy.RollingUpdate.MaxSurge.IntValue()); pods.Value() < 2*need {
		t.Errorf("the quota is %d Pods, a rollout takes %d", pods.Value(), need)
	}
}

// shownPatch returns the YAML that the page shows for a component.
func shownPatch(t *testing.T, component string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "operate", "components.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n### "+component+"\n")
	section, _, _ = strings.Cut(section, "\n### ")
	_, text, found := strings.Cut(section, "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	if !found {
		t.Fatalf("the page shows no YAML about %s", component)
	}
	return text
}

func TestDocumentedPatchesApply(t *testing.T) {
	policy := read[networkingv1.NetworkPolicy](t, build(t, shownPatch(t, "network-policy"), "network-policy"), "NetworkPolicy templater").Spec
	to := policy.Egress[0]
	if len(to.Ports) != 1 || to.Ports[0].Port.IntValue() != 6443 || len(to.To) != 1 || to.To[0].IPBlock.CIDR != "10.0.0.1/32" || len(policy.Egress) != 2 {
		t.Errorf("egress is %+v", policy.Egress)
	}
	if from := policy.Ingress[0].From[0].NamespaceSelector.MatchLabels; from["kubernetes.io/metadata.name"] != "prometheus" {
		t.Errorf("ingress is from %v", from)
	}
	monitor := build(t, shownPatch(t, "secure-metrics"), "secure-metrics")["ServiceMonitor templater"].Object
	endpoints, _, err := unstructured.NestedSlice(monitor, "spec", "endpoints")
	if err != nil {
		t.Fatal(err)
	}
	tls, _ := endpoints[0].(map[string]any)["tlsConfig"].(map[string]any)
	if tls["serverName"] != "templater-metrics.templater-system.svc" || tls["ca"] == nil || tls["insecureSkipVerify"] != nil {
		t.Errorf("tlsConfig is %v", tls)
	}
}

// TestComponentsCanBeCombined also checks that a second installation shares no object name with the first.
func TestComponentsCanBeCombined(t *testing.T) {
	all := slices.DeleteFunc(components(t), func(name string) bool { return name == "cert-manager" }) // has nothing to patch with without-webhook
	first, other := build(t, "", all...), build(t, second, all...)
	for key, o := range other {
		if first[key] != nil && o.GetNamespace() == "" && o.GetKind() != "Namespace" {
			t.Errorf("both installations have the %s", key)
		}
		if namespace := o.GetNamespace(); namespace != "" && namespace != "templater-b" {
			t.Errorf("%s is in the namespace %s", key, namespace)
		}
	}
	for _, b := range []built{first, other} {
		for key, o := range b {
			if o.GetLabels()["app.kubernetes.io/part-of"] == "" && strings.Contains(key, "metrics-reader") {
				t.Errorf("%s has no label to find it by", key)
			}
		}
	}
	if len(first) != len(other) {
		t.Errorf("%d objects and %d", len(first), len(other))
	}
	read[appsv1.Deployment](t, other, "Deployment templater-b")
	rights := other.rights(t, "templater-b")
	if !slices.Contains(rights, "everywhere: create authentication.k8s.io/tokenreviews") || !slices.Contains(rights, "everywhere: update */*/finalizers") {
		t.Errorf("the second one lacks a right: %q", rights)
	}
}
