package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/e2e/cluster/pki"
)

var events = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}

// rightsOf reads the golden file of an installation with a component: the permissions of its service account in all
// namespaces, and the additional ones in its own namespace.
func rightsOf(t *testing.T, variant string) (everywhere, inside []string) {
	t.Helper()
	for line := range strings.Lines(read(t, filepath.Join("testdata", "rbac", variant+".txt"))) {
		line = strings.TrimSpace(line)
		if right, ok := strings.CutPrefix(line, "everywhere: "); ok {
			everywhere = append(everywhere, right)
		} else if right, ok := strings.CutPrefix(line, "in "+home+": "); ok {
			inside = append(inside, right)
		} else {
			t.Fatalf("permissions of %s: unexpected %q", variant, line)
		}
	}
	return everywhere, inside
}

// sameRights expects that a service account has exactly the permissions of the golden files.
func (i *installation) sameRights(variants []string, account, namespace string) {
	i.t.Helper()
	// Default permissions of every service account.
	everywhere := []string{
		"create authentication.k8s.io/selfsubjectreviews",
		"create authorization.k8s.io/selfsubjectaccessreviews", "create authorization.k8s.io/selfsubjectrulesreviews",
	}
	var inside []string
	for _, variant := range variants {
		e, in := rightsOf(i.t, variant)
		everywhere, inside = append(everywhere, e...), append(inside, in...)
	}
	user := "system:serviceaccount:" + namespace + ":" + account
	for where, want := range map[string][]string{"default": everywhere, namespace: append(inside, everywhere...)} {
		want = slices.Compact(slices.Sorted(slices.Values(want)))
		eventually(i.t, soon, func() error {
			if diff := cmp.Diff(want, i.rights(user, where)); diff != "" {
				return fmt.Errorf("kubectl auth can-i --list of %s in the namespace %s (-golden +cluster):\n%s", user, where, diff)
			}
			return nil
		})
	}
}

// rightsOfComponents compares the permissions of the service account with each component, as reported by the API
// server, with the golden files. It runs no Pods.
func (i *installation) rightsOfComponents() {
	i.t.Helper()
	found, err := filepath.Glob(filepath.Join("testdata", "rbac", "*.txt"))
	if err != nil {
		i.t.Fatal(err)
	}
	top := "resources:\n"
	var names []string
	for _, file := range found {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if name == "default" || name == "cert-manager" { // the kinds of cert-manager are not in this cluster
			continue
		}
		names = append(names, name)
		top += "- " + name + "\n"
		i.write("rights/"+name+"/kustomization.yaml", "namespace: "+i.ns+"\nnameSuffix: -"+name+"\nresources: [../../templater/config/rbac]\n"+
			"components: [../../templater/config/components/"+name+"]\n")
	}
	i.write("rights/kustomization.yaml", top)
	i.dir = i.folder
	i.shell("kubectl apply -k rights")
	for _, name := range names {
		i.sameRights([]string{name}, "templater-"+name, i.ns)
	}
	i.shell("kubectl delete -k rights --wait=false")
}

// plainMetrics expects that the Service serves the metrics of the leader.
func (i *installation) plainMetrics() {
	i.t.Helper()
	i.apply(read(i.t, filepath.Join(env.root, "config", "prometheus", "service.yaml")))
	eventually(i.t, soon, func() error {
		out, err := env.clientset.CoreV1().Services(home).ProxyGet("http", "templater-metrics", "metrics", "/metrics", nil).DoRaw(i.t.Context())
		if err == nil && !strings.Contains(string(out), "leader_election_master_status{name=\"templater\"} 1") {
			err = errors.New("the Service has not led to the leader yet")
		}
		return err
	})
}

// shared starts a second installation of templater for a shared cluster, and returns a function that tests and removes
// it. Its metrics are served securely without a provided certificate.
func (i *installation) shared() (end func()) {
	i.t.Helper()
	text := strings.NewReplacer("templater-b", "templater-s", "Suffix: -b", "Suffix: -s", "class-name=b", "class-name=s").Replace(yamlIn(i.t, secondPage, "Steps")[0])
	i.write("deploy-s/kustomization.yaml", text+"components: [../templater/config/components/shared-cluster, ../templater/config/components/secure-metrics]\n")
	i.shell("kubectl apply -k deploy-s")
	i.shell("kubectl -n templater-system create role templater-s --verb=list,watch --resource=secrets --resource-name=templater-seal")
	i.shell("kubectl -n templater-system create rolebinding templater-s --role=templater-s --serviceaccount=templater-s:templater-s")
	return func() {
		i.t.Helper()
		i.dir = i.folder
		i.shell("kubectl -n templater-s rollout status deployment/templater-s")
		i.shell(`kubectl patch validatingadmissionpolicy templater --type=json -p '[{"op":"replace","path":"/spec/variables/0/expression","value":"{\"s\": \"templater-s/templater-s\"}"}]'`)
		name := i.id + "-s"
		i.own(controllers, name)
		refused := false
		eventually(i.t, soon, func() error {
			err := env.run(i.t.Context(), secretsOf(name, "  className: s\n"), "apply", "--server-side", "-f", "-")
			if refused = err != nil && strings.Contains(err.Error(), "[TL029]"); refused {
				return nil
			}
			return err
		})
		if !refused { // created before the webhook was active
			waitFor(i.t, env.client.Resource(controllers), name, func(o *unstructured.Unstructured) error {
				return condition(o, "Accepted", "False", "ServiceAccountRequired")
			})
			i.delete(env.client.Resource(controllers), name)
		}
		for _, pod := range i.list(env.client.Resource(pods).Namespace("templater-s"), "") {
			out, err := env.clientset.CoreV1().Pods("templater-s").ProxyGet("https", pod.GetName(), "8080", "/metrics", nil).DoRaw(i.t.Context())
			if err == nil || !strings.Contains(err.Error()+string(out), "send a token that the API server accepts") {
				i.t.Errorf("metrics without a token, by TLS with a self-made certificate: got error %v and %.200s", err, out)
			}
		}
		i.shell("kubectl delete -k deploy-s --wait=false")
		i.shell("kubectl -n templater-system delete role,rolebinding templater-s")
	}
}

// components follows the page. First, templater lacks the permission that the admission plugin of OpenShift requires,
// and reports that.
func (i *installation) components() {
	i.t.Helper()
	i.own(controllers, i.id+"-owned")
	i.apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "@id-owned", labels: {rbac.templater.dev/aggregate-to-templater: "true"}}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: owner, labels: {owner: "yes"}}}
`)
	if err := env.run(i.t.Context(), `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: `+i.id+`-owned}
spec:
  watch: {apiVersion: v1, kind: ConfigMap, namespaces: [`+i.ns+`], labelSelector: {matchLabels: {owner: "yes"}}}
  children:
  - name: owned
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: owned}
`, "apply", "-f", "-"); err != nil {
		i.t.Fatal(err)
	}
	eventually(i.t, soon, func() error {
		var notes []string
		for _, event := range i.list(i.in(events), "") {
			note, _, _ := unstructured.NestedString(event.Object, "note")
			notes = append(notes, note)
		}
		if !strings.Contains(strings.Join(notes, "\n"), "resources: [configmaps/finalizers], verbs: [update]}") {
			return fmt.Errorf("the missing permission on finalizers is not reported: %q", notes)
		}
		return nil
	})
	i.certificate()
	i.apply("{apiVersion: v1, kind: Namespace, metadata: {name: monitoring}}")
	i.write("deploy/kustomization.yaml", yamlIn(i.t, installPage, "Install")[0]+yamlIn(i.t, componentsPage, "Components")[0])
	i.steps(shownIn(i.t, componentsPage, "Components"))
	waitFor(i.t, i.in(configMaps), "owned", nil)
	i.delete(env.client.Resource(controllers), i.id+"-owned")
	i.shell("kubectl delete clusterrole " + i.id + "-owned")
	i.twoReplicas()
	i.sameRights([]string{"openshift", "network-policy", "secure-metrics", "priority"}, "templater", home)
	for _, pod := range i.list(env.client.Resource(pods).Namespace(home), "app.kubernetes.io/name=templater") {
		if got, _, _ := unstructured.NestedString(pod.Object, "spec", "priorityClassName"); pod.GetDeletionTimestamp() == nil && got != "system-cluster-critical" {
			i.t.Errorf("priority of %s: %q", pod.GetName(), got)
		}
	}
}

// certificate gives templater a verifiable certificate; ca.crt in the folder verifies it.
func (i *installation) certificate() {
	i.t.Helper()
	authority, err := pki.NewAuthority(i.folder)
	if err != nil {
		i.t.Fatal(err)
	}
	pair, err := authority.Issue(pki.Subject{CommonName: "templater", DNSNames: []string{"templater-metrics." + home + ".svc"}})
	if err == nil {
		err = pair.Write(i.folder, "tls")
	}
	if err != nil {
		i.t.Fatal(err)
	}
	i.dir = i.folder
	i.shell("kubectl -n " + home + " create secret tls templater-metrics --cert=tls.crt --key=tls.key")
}

// measured matches the metrics in alerts and the dashboard, without histogram suffixes.
var measured = regexp.MustCompile(`\b(templater|workqueue|rest_client|leader_election|process)_[a-z_]+`)

// secureMetrics expects that each replica serves its metrics to authorized clients only, including every metric used by
// an alert or the dashboard.
func (i *installation) secureMetrics() {
	i.t.Helper()
	i.apply("{apiVersion: v1, kind: ServiceAccount, metadata: {name: prometheus-k8s, namespace: monitoring}}")
	leaders, leader := 0, ""
	for _, pod := range i.list(env.client.Resource(pods).Namespace(home), "app.kubernetes.io/name=templater") {
		if pod.GetDeletionTimestamp() != nil {
			continue
		}
		address := i.forward(pod.GetName())
		for _, row := range []struct {
			account string
			code    int
			body    string
		}{
			{"", 401, "send a token"},
			{"default", 403, "forbidden: the user of the token needs a ClusterRole with the rule {nonResourceURLs: [/metrics], verbs: [get]}"},
			{"prometheus-k8s", 200, "leader_election_master_status"},
		} {
			code, body := i.scrape(address, row.account)
			if code != row.code || !strings.Contains(body, row.body) {
				i.t.Errorf("%s: the metrics for the account %q: got %d %.200s, want %d %s", pod.GetName(), row.account, code, body, row.code, row.body)
			}
			if strings.Contains(body, "leader_election_master_status{name=\"templater\"} 1") {
				leaders, leader = leaders+1, body
			}
		}
	}
	if leaders != 1 {
		i.t.Fatalf("%d of the replicas say that they lead", leaders)
	}
	asked := read(i.t, filepath.Join(env.root, "config", "prometheus", "rules.yaml")) + read(i.t, filepath.Join(env.root, "config", "grafana", "dashboard.json"))
	names := measured.FindAllString(asked, -1)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name = strings.TrimSuffix(name, "_bucket"); !strings.Contains(leader, "# TYPE "+name+" ") {
			i.t.Errorf("no metric %s", name)
		}
	}
}

// forward returns a local address that is forwarded to the metrics of a Pod until the test ends.
func (i *installation) forward(pod string) string {
	i.t.Helper()
	command := env.shell(i.t.Context(), "", `exec "$KUBECTL" --kubeconfig "$CONFIG" -n `+home+" port-forward pod/"+pod+" :8080")
	path := filepath.Join(i.t.TempDir(), pod)
	out, err := os.Create(path)
	if err != nil {
		i.t.Fatal(err)
	}
	command.Stdout, command.Stderr = out, out
	if err := errors.Join(command.Start(), out.Close()); err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() { _ = command.Wait() }) // ends with the test's context
	address := ""
	eventually(i.t, soon, func() error {
		text := read(i.t, path)
		_, after, found := strings.Cut(text, "Forwarding from ")
		if !found {
			return fmt.Errorf("kubectl port-forward: %s", text)
		}
		address, _, _ = strings.Cut(after, " ")
		return nil
	})
	return address
}

// scrape gets the metrics, verifying the certificate, with a token of a service account in the namespace monitoring, or
// without a token.
func (i *installation) scrape(address, account string) (code int, body string) {
	i.t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(read(i.t, filepath.Join(i.folder, "ca.crt"))))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "templater-metrics." + home + ".svc"}}}
	request, err := http.NewRequestWithContext(i.t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
	if err != nil {
		i.t.Fatal(err)
	}
	if account != "" {
		token, err := env.clientset.CoreV1().ServiceAccounts("monitoring").CreateToken(i.t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			i.t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token.Status.Token)
	}
	answer, err := client.Do(request)
	if err != nil {
		i.t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		i.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
