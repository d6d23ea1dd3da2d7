package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/templater-dev/templater/e2e/cluster/poll"
)

const (
	home           = "templater-system" // the namespace of the installation
	installPage    = "docs/operate/install.md"
	componentsPage = "docs/operate/components.md"
	secondPage     = "docs/operate/second-installation.md"
	pageImage      = "registry.example.org/templater:v1" // as on the page
	nextImage      = "registry.example.org/templater:v2"
)

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// TestInstallPage installs templater on the real node with the commands of the page, tests what that page and the pages
// of the samples promise, and uninstalls it.
func TestInstallPage(t *testing.T) {
	i := prepareInstall(t)
	before := everything(t)

	i.section("Install")
	i.twoReplicas()
	i.sameRights([]string{"default"}, "templater", home)
	i.rightsOfComponents()
	i.plainMetrics()
	i.staysWithinItsMemory()
	stopShared := i.shared()

	// Only users who may impersonate templater's service account can make templater use it.
	alice := env.userKubeconfig(t, "alice")
	i.refuses(alice, "she is not allowed to write TemplateControllers", "cannot patch resource", "")
	i.components()
	i.section("Grant permissions")
	i.policy(alice)
	stopShared()
	i.second(alice)

	i.dir = ""
	i.simpleDeployment()
	i.loadTest()
	i.orchestr()
	i.garbageCollectorIsFree()
	i.secureMetrics()
	i.upgrade()

	// Its child is deleted before its TemplateController.
	i.dir = ""
	i.shell("kubectl apply -f config/samples/simpledeployment/example.yaml")
	waitFor(t, i.in(pods), "example-01", nil)
	i.dir = i.folder
	i.section("Uninstall")
	i.shell("kubectl delete namespace monitoring --wait=false")
	if left := i.list(i.in(pods), "templater.dev/controller=simpledeployments"); len(left) > 0 && left[0].GetDeletionTimestamp() == nil {
		t.Errorf("%s outlived its TemplateController", left[0].GetName())
	}
	i.nothingNew(before)
}

// installation is a scope in which the commands of the page run in a folder next to the repository.
type installation struct {
	*scope
	folder string
}

// prepareInstall removes the objects that the other tests installed, and restores them at the end.
func prepareInstall(t *testing.T) *installation {
	t.Helper()
	if env.cluster == nil {
		leaveOut(t, "nothing is installed into or removed from a cluster that is not ours")
	}
	i := &installation{scope: sampleScope(t), folder: t.TempDir()}
	classes.Store(t.Name(), "") // the class on the page
	if err := env.run(t.Context(), "", "delete", "crd", "templatecontrollers.templater.dev", "namespacedtemplatecontrollers.templater.dev", "templaterevisions.templater.dev", "--ignore-not-found"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if t.Failed() { // the page may not have been followed to its end
			i.report(ctx)
			out, _ := env.command(ctx, "", "delete", "templatecontrollers", "--all", "--timeout=30s", "--ignore-not-found")
			again, _ := env.command(ctx, "", "delete", "-k", filepath.Join(env.root, "config", "default"), "--ignore-not-found")
			second, _ := env.command(ctx, "", "delete", "namespaces,clusterroles,clusterrolebindings", "-l", "app.kubernetes.io/part-of=templater-b")
			t.Log(out, again, second)
		}
		if err := env.install(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := os.Symlink(env.root, filepath.Join(i.folder, "templater")); err != nil {
		t.Fatal(err)
	}
	i.write("deploy/kustomization.yaml", yamlIn(t, installPage, "Install")[0])
	i.write("deploy/rbac.yaml", yamlIn(t, installPage, "Grant permissions")[0])
	i.load(pageImage)
	return i
}

// yamlIn returns the YAML that a page shows under a heading.
func yamlIn(t *testing.T, page, heading string) []string { return blocksIn(t, page, heading, "yaml") }

// write writes a file to the folder in which the commands run.
func (i *installation) write(name, text string) {
	i.t.Helper()
	path := filepath.Join(i.folder, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		i.t.Fatal(err)
	}
}

// load builds an image as on the page, for this machine's platform only, and loads it into the node instead of pushing
// it.
func (i *installation) load(image string) {
	i.t.Helper()
	i.dir = i.folder
	i.t.Log(i.shell("make -C templater image IMAGE=" + image + " PLATFORMS=linux/" + runtime.GOARCH))
	if err := env.cluster.Load(i.t.Context(), filepath.Join(env.root, "bin", "templater.tar")); err != nil {
		i.t.Fatal(err)
	}
}

// section runs the commands under a heading of the page.
func (i *installation) section(heading string) {
	i.t.Helper()
	i.steps(shownIn(i.t, installPage, heading))
}

func (i *installation) steps(all []shown) {
	i.t.Helper()
	i.dir = i.folder
	for _, step := range all {
		if step.command == "kubectl delete -k deploy" { // also deletes components
			i.subset(step)
			continue
		}
		if strings.Contains(step.command, "rollout status") { // also prints progress
			if out, last := i.shell(step.command), step.output; !strings.HasSuffix(out, last) {
				i.t.Errorf("%s: got %q, want %q in the end", step.command, out, last)
			}
			continue
		}
		i.follow(step)
	}
}

// subset runs a command whose output contains the lines of the page, among others.
func (i *installation) subset(step shown) {
	i.t.Helper()
	out := i.shell(step.command)
	i.t.Logf("%s:\n%s", step.command, out)
	var got string
	for line := range strings.Lines(out) {
		if strings.Contains(step.output, line) {
			got += line
		}
	}
	if diff := cmp.Diff(step.output, got); diff != "" {
		i.t.Errorf("%s (-page +cluster, without what the page does not have):\n%s", step.command, diff)
	}
}

// report logs why Pods are not running.
func (i *installation) report(ctx context.Context) {
	for _, args := range [][]string{
		{"-n", home, "get", "pods,deployments,leases", "-o", "wide"}, {"-n", home, "get", "events"},
		{"-n", home, "logs", "-l", "app.kubernetes.io/name=templater", "--tail=60", "--prefix"}, {"get", "templatecontrollers", "-o", "yaml"},
	} {
		out, err := env.command(ctx, "", args...)
		i.t.Logf("kubectl %v: %v\n%s", args, err, out)
	}
}

// twoReplicas expects two ready Pods, one of which holds the Lease. The namespace enforces the restricted Pod Security
// level, so they comply with it.
func (i *installation) twoReplicas() {
	i.t.Helper()
	namespace := waitFor(i.t, env.client.Resource(namespaces), home, nil)
	if got := namespace.GetLabels()["pod-security.kubernetes.io/enforce"]; got != "restricted" {
		i.t.Errorf("the namespace enforces the level %q, want restricted", got)
	}
	eventually(i.t, soon, func() error {
		var ready []string
		for _, pod := range i.list(env.client.Resource(pods).Namespace(home), "app.kubernetes.io/name=templater") {
			if condition(&pod, "Ready", "True", "") == nil && pod.GetDeletionTimestamp() == nil {
				ready = append(ready, pod.GetName())
			}
		}
		lease, err := env.client.Resource(leases).Namespace(home).Get(i.t.Context(), "templater", getOptions)
		if err != nil {
			return err
		}
		holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
		if len(ready) != 2 || !slices.ContainsFunc(ready, func(pod string) bool { return strings.HasPrefix(holder, pod) }) {
			return fmt.Errorf("the Pods %v are ready, and %q holds the Lease", ready, holder)
		}
		return nil
	})
}

// rights returns a user's permissions in a namespace, as "verbs group/resource names", sorted.
func (i *installation) rights(user, namespace string) []string {
	i.t.Helper()
	client, err := kubernetes.NewForConfig(i.as(user))
	if err != nil {
		i.t.Fatal(err)
	}
	review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(i.t.Context(), &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}, metav1.CreateOptions{})
	if err != nil {
		i.t.Fatal(err)
	}
	var all []string
	for _, rule := range review.Status.ResourceRules {
		slices.Sort(rule.Verbs)
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				text := strings.Join(rule.Verbs, ",") + " " + group + "/" + resource + " "
				for _, name := range rule.ResourceNames {
					all = append(all, text+name)
				}
				if len(rule.ResourceNames) == 0 {
					all = append(all, strings.TrimSpace(text))
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// as is a client configuration that impersonates another user.
func (i *installation) as(user string) *rest.Config {
	i.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", env.kubeconfig)
	if err != nil {
		i.t.Fatal(err)
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	if strings.HasPrefix(user, "system:serviceaccount:") {
		config.Impersonate.Groups = []string{"system:serviceaccounts", "system:authenticated"}
	}
	return config
}

// secretsOf is a TemplateController that would reveal Secrets. field is added to its spec.
func secretsOf(name, field string) string {
	return `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: ` + name + `}
spec:
  suspend: true
  watch: {apiVersion: v1, kind: Secret}
  children:
  - name: copies
    template: "{{ fail \"never\" }}"
` + field
}

// refuses expects that a user cannot apply a TemplateController, and gets the reason, once the API server has observed
// the current policy.
func (i *installation) refuses(kubeconfig, because, want, field string) {
	i.t.Helper()
	eventually(i.t, soon, func() error {
		out, err := env.command(i.t.Context(), secretsOf(i.id, field), "--kubeconfig", kubeconfig, "apply", "--server-side", "-f", "-")
		switch {
		case err == nil:
			return poll.Stop(fmt.Errorf("%s: want a refusal with %q, and it was allowed: %s", because, want, out))
		case !strings.Contains(out, want):
			return fmt.Errorf("%s: got %q, want a refusal with %q", because, out, want)
		}
		i.t.Logf("%s: %s", because, out)
		return nil
	})
}

// allows expects that a user can apply it, once the API server has observed a new permission.
func (i *installation) allows(kubeconfig, field string) {
	i.t.Helper()
	eventually(i.t, soon, func() error {
		out, err := env.command(i.t.Context(), secretsOf(i.id, field), "--kubeconfig", kubeconfig, "apply", "--server-side", "-f", "-")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

// policy tests what alice may do with the permissions from the page.
func (i *installation) policy(alice string) {
	i.t.Helper()
	i.own(controllers, i.id)
	i.allows(alice, "")

	i.shell("kubectl -n " + home + " delete role use-templater")
	changed := "  values: {changed: true}\n"
	i.waitNot("alice", authorizationv1.ResourceAttributes{Namespace: home, Resource: "serviceaccounts", Name: "templater", Verb: "impersonate"})
	i.refuses(alice, "a spec change uses the service account", "ask an administrator for the verb impersonate on serviceaccounts/templater in namespace "+home, changed)
	if out, err := env.command(i.t.Context(), "", "--kubeconfig", alice, "label", "tc", i.id, "a=b"); err != nil {
		i.t.Errorf("a label is nothing new: got error %v: %s", err, out)
	}

	account := "  serviceAccountRef: {namespace: " + i.ns + ", name: worker}\n"
	i.refuses(alice, "she is not allowed to impersonate the service account", "impersonate on serviceaccounts/worker in namespace "+i.ns, account)
	i.apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: use-worker, namespace: "@ns"}
rules:
- {apiGroups: [""], resources: [serviceaccounts], resourceNames: [worker], verbs: [impersonate]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: use-worker, namespace: "@ns"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: use-worker}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]
`)
	i.refuses(alice, "it uses templater's own service account", "user alice is not allowed to change the spec of this TemplateController", account)
	if out, err := env.command(i.t.Context(), "", "--kubeconfig", alice, "delete", "tc", i.id); err == nil || !strings.Contains(out, "user alice is not allowed to delete this TemplateController") {
		i.t.Errorf("alice deletes a TemplateController of another service account: got error %v: %s", err, out)
	}
	i.delete(env.client.Resource(controllers), i.id)
	i.allows(alice, account)
	policy := waitFor(i.t, env.client.Resource(schema.GroupVersionResource{
		Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies",
	}), "templater", nil)
	if warnings, found, _ := unstructured.NestedSlice(policy.Object, "status", "typeChecking", "expressionWarnings"); found {
		i.t.Errorf("the API server warns about the policy: %v", warnings)
	}
}

// second installs and uninstalls a second installation as on the page, and expects that it serves its class, for those
// who may impersonate its service account.
func (i *installation) second(alice string) {
	i.t.Helper()
	const class = "  className: b\n"
	i.refuses(alice, "the class is unknown", `unknown class "b"`, class)
	files, steps := yamlIn(i.t, secondPage, "Steps"), shownIn(i.t, secondPage, "Steps")
	i.write("deploy-b/kustomization.yaml", files[0])
	i.write("deploy/kustomization.yaml", yamlIn(i.t, installPage, "Install")[0]+files[1]+yamlIn(i.t, componentsPage, "Components")[0])
	last := len(steps) - 1
	i.steps(steps[:last])
	i.refuses(alice, "it uses the service account of the class", "impersonate on serviceaccounts/templater-b in namespace templater-b", class)
	name := i.id + "-b"
	i.own(controllers, name)
	i.dir = ""
	i.apply(secretsOf(name, class))
	served := func(o *unstructured.Unstructured) error {
		by, _, _ := unstructured.NestedString(o.Object, "status", "className")
		return errors.Join(same("status.className", "b", by), condition(o, "Accepted", "True", ""))
	}
	waitFor(i.t, env.client.Resource(controllers), name, served)
	i.delete(env.client.Resource(controllers), name)
	i.steps(steps[last:])
}

// waitNot waits until the API server has observed that a permission was revoked.
func (i *installation) waitNot(user string, right authorizationv1.ResourceAttributes) {
	i.t.Helper()
	eventually(i.t, soon, func() error {
		review, err := env.clientset.AuthorizationV1().SubjectAccessReviews().Create(i.t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &right},
		}, metav1.CreateOptions{})
		if err == nil && review.Status.Allowed {
			err = fmt.Errorf("%s is still allowed to %s %s", user, right.Verb, right.Resource)
		}
		return err
	})
}

// garbageCollectorIsFree deletes a TemplateController in the foreground, so that the garbage collector, which may not
// impersonate anyone, removes a finalizer.
func (i *installation) garbageCollectorIsFree() {
	i.t.Helper()
	in := env.client.Resource(controllers)
	foreground := metav1.DeletePropagationForeground
	if err := in.Delete(i.t.Context(), i.id, metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		i.t.Fatal(err)
	}
	waitGone(i.t, in, i.id)
}

// upgrade upgrades the version and changes a setting as on the page, and expects that the roles do not change
// meanwhile.
func (i *installation) upgrade() {
	i.t.Helper()
	roles := env.client.Resource(rbacv1.SchemeGroupVersion.WithResource("clusterroles"))
	events := record(i.t, roles, "app.kubernetes.io/part-of=templater")
	i.load(nextImage)
	i.write("deploy/kustomization.yaml", strings.Replace(yamlIn(i.t, installPage, "Install")[0], "newTag: v1", "newTag: v2", 1)+yamlIn(i.t, installPage, "Settings")[0]+yamlIn(i.t, componentsPage, "Components")[0])
	if out, _ := i.tryShell("kubectl diff -k deploy"); !strings.Contains(out, "+        image: "+nextImage) || strings.Contains(out, "kind: ClusterRole\n") {
		i.t.Errorf("kubectl diff shows more or less than another image:\n%s", out)
	}
	i.shell("kubectl apply -k deploy")
	i.shell("kubectl -n " + home + " rollout status deployment/templater")
	i.twoReplicas()
	const set = "{.resources.limits.memory} {.env[?(@.name==\"GOMEMLIMIT\")].value} {.args[-1:]}"
	got := i.shell("kubectl -n " + home + " get deployment templater -o jsonpath='{range .spec.template.spec.containers[0]}" + set + "{end}'")
	if want := "1Gi 920MiB --log-level=verbose"; got != want {
		i.t.Errorf("settings: got %s, want %s", got, want)
	}
	i.futureField()
	for _, event := range events.all() {
		i.t.Errorf("an upgrade touched a role: %s %v", event.Type, event.Object)
	}
	i.dir = ""
	i.shell("kubectl apply -f config/samples/simpledeployment/example.yaml")
	waitFor(i.t, i.in(pods), "example-01", running)
	i.shell("kubectl delete sd example-01")
}

// futureField writes a field that the CRD does not have.
func (i *installation) futureField() {
	i.t.Helper()
	name := i.id + "-future"
	i.own(controllers, name)
	text := secretsOf(name, "  future: 1\n")
	if out, err := env.command(i.t.Context(), text, "apply", "-f", "-"); err == nil || !strings.Contains(out, `unknown field "spec.future"`) {
		i.t.Errorf("kubectl apply with an unknown field: got error %v and %s", err, out)
	}
	if err := env.run(i.t.Context(), text, "apply", "--validate=false", "-f", "-"); err != nil {
		i.t.Fatal(err)
	}
	stored := waitFor(i.t, env.client.Resource(controllers), name, nil)
	if _, found, _ := unstructured.NestedFieldNoCopy(stored.Object, "spec", "future"); found {
		i.t.Error("an unknown field was stored")
	}
	i.delete(env.client.Resource(controllers), name)
}

// everything returns all objects of the cluster, except those that come and go by themselves.
func everything(t *testing.T) map[string]types.UID {
	t.Helper()
	all, err := listEverything(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func listEverything(ctx context.Context) (map[string]types.UID, error) {
	lists, err := env.clientset.Discovery().ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	lists = discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "create"}}, lists)
	resources, err := discovery.GroupVersionResources(lists)
	if err != nil {
		return nil, err
	}
	all := map[string]types.UID{}
	for resource := range resources {
		if slices.Contains([]string{"events", "leases", "endpoints", "ipaddresses"}, resource.Resource) {
			continue
		}
		list, err := env.client.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
		}
		for _, o := range list.Items {
			all[resource.GroupResource().String()+" "+o.GetNamespace()+"/"+o.GetName()] = o.GetUID()
		}
	}
	return all, nil
}

// nothingNew waits until there are no new objects, except those of the test and of the samples.
func (i *installation) nothingNew(before map[string]types.UID) {
	i.t.Helper()
	eventually(i.t, soon, func() error {
		now, err := listEverything(i.t.Context())
		if err != nil {
			return err
		}
		maps.DeleteFunc(now, func(key string, _ types.UID) bool {
			_, old := before[key]
			return old || strings.Contains(key, " "+i.ns+"/") || strings.HasSuffix(key, ".example.org")
		})
		if len(now) > 0 {
			return fmt.Errorf("these are left: %v", slices.Sorted(maps.Keys(now)))
		}
		return nil
	})
}
