package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/pki"
	"github.com/templater-dev/templater/e2e/manifest"
)

var webhooks = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}

// webhookRights are the permissions of the webhook: RULE are the rules of config/rbac.
const webhookRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: webhook}
rules: [RULE-OF-SECRETS]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: webhook}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: webhook}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: templater-e2e}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "@id-webhook"}
rules: [RULE-OF-CONFIGURATIONS]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "@id-webhook"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "@id-webhook"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: templater-e2e}]
`

// ruleFor returns a role's rule in config/rbac for a resource, as JSON, limited to the named object.
func ruleFor(t *testing.T, file, resource, name string) string {
	t.Helper()
	role, err := manifest.Read(env.root, filepath.Join("rbac", file))
	if err != nil {
		t.Fatal(err)
	}
	rules, _, err := unstructured.NestedSlice(role.Object, "rules")
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range rules {
		rule := item.(map[string]any)
		if resources, _, _ := unstructured.NestedStringSlice(rule, "resources"); !slices.Equal(resources, []string{resource}) {
			continue
		}
		rule["resourceNames"] = []any{name}
		text, err := json.Marshal(rule)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	t.Fatalf("%s has no rule for %s", file, resource)
	return ""
}

// sizes is a kind with a complete schema.
const sizes = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: "sizes.@group"}
spec:
  group: "@group"
  scope: Namespaced
  names: {kind: Size, plural: sizes, singular: size}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec: {type: object, required: [width], properties: {width: {type: integer}, depth: {type: integer}}}
`

// authored is a TemplateController as its author writes it, with one line of its template.
func (s *scope) authored(name, line string) string {
	name = s.expand(name)
	s.own(controllers, name)
	return s.expand(strings.NewReplacer("NAME", name, "CLASS", classOf(s.t), "LINE", line).Replace(`
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: NAME}
spec:
  className: CLASS
  suspend: true
  watch: {apiVersion: "@group/v1", kind: Size}
  children:
  - name: map
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .metadata.name }}"}
      data:
        LINE
`))
}

// asked is the webhook of the test's class, and the addresses of its replicas.
type asked struct {
	*scope
	name      string // of the webhook configuration
	addresses []string
}

// newAsked configures the API server to call the first of two addresses.
func newAsked(t *testing.T) *asked {
	t.Helper()
	if env.cluster == nil || env.cluster.Mode != layout.Kwok {
		leaveOut(t, "the API server reaches this machine where it runs on it: TEMPLATER_E2E_MODE=kwok")
	}
	a := askedIn(newSharedScope(t))
	a.apply(strings.NewReplacer(
		"RULE-OF-SECRETS", ruleFor(t, "lease.yaml", "secrets", a.secretName()),
		"RULE-OF-CONFIGURATIONS", ruleFor(t, "operator.yaml", webhooks.Resource, a.name),
	).Replace(webhookRights))
	for _, user := range []string{userA(t), userB(t)} {
		a.waitAllowed(user, authorizationv1.ResourceAttributes{Group: webhooks.Group, Resource: webhooks.Resource, Verb: "watch", Name: a.name})
	}
	return a
}

// askedIn configures the API server to call the webhook of the test's class at the first of two addresses, and defines
// a kind with a complete schema.
func askedIn(s *scope) *asked {
	s.t.Helper()
	a := &asked{scope: s, name: "templater-" + classOf(s.t)}
	a.apply(sizes)
	for range 2 {
		listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed immediately
		if err != nil {
			s.t.Fatal(err)
		}
		a.addresses = append(a.addresses, listener.Addr().String())
		listener.Close()
	}
	configuration, err := manifest.Read(env.root, filepath.Join("webhook", "configuration.yaml"))
	if err != nil {
		s.t.Fatal(err)
	}
	configuration.SetName(a.name)
	configuration.Object["webhooks"].([]any)[0].(map[string]any)["clientConfig"] = map[string]any{"url": a.url(0)}
	if err := a.applyObject(configuration); err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (a *asked) url(replica int) string {
	return "https://" + a.addresses[replica] + "/validate-templatecontrollers"
}

// start starts a replica.
func (a *asked) start(replica int, user string) *operator {
	a.t.Helper()
	return a.replica(user, "--webhook-bind-address", a.addresses[replica], "--webhook-namespace", a.ns)
}

// kubectl applies a manifest like a user, and returns the output.
func (a *asked) kubectl(manifest string) (string, error) {
	out, err := env.command(a.t.Context(), manifest, "apply", "-f", "-")
	return strings.ReplaceAll(out, a.id, "@id"), err
}

// waitChecked waits until the webhook answers the API server.
func (a *asked) waitChecked(when string) {
	a.t.Helper()
	eventually(a.t, soon, func() error {
		out, err := a.kubectl(a.authored("@id-probe", "a: {{ nothing }}"))
		if err == nil {
			a.delete(env.client.Resource(controllers), a.expand("@id-probe")) // an update is only denied for errors that are new
			return fmt.Errorf("%s: not checked: %s", when, out)
		}
		return nil
	})
}

// goesThrough expects that an invalid TemplateController can be written.
func (a *asked) goesThrough(when string) {
	a.t.Helper()
	name := a.expand("@id-unchecked")
	if out, err := a.kubectl(a.authored(name, "a: {{ nothing }}")); err != nil {
		a.t.Errorf("%s: %v: %s", when, err, out)
	}
	a.delete(env.client.Resource(controllers), name)
}

func TestKubectlShowsTemplateErrors(t *testing.T) {
	parallel(t)
	a := newAsked(t)
	first := a.start(0, userA(t))
	first.waitLeading(soon)
	second := a.start(1, userB(t))
	a.waitChecked("at first")

	const denied = `The request is invalid: error when creating "STDIN": admission webhook "templatecontrollers.templater.dev" denied the request: `
	for line, want := range map[string]string{
		"width: {{ quote .spec.width }}": "templatecontroller.templater.dev/@id-fine created\n",
		"width: {{ quotee .spec.width }}": denied + "children[map]:5:13: unknown function quotee; did you mean quote? [TL003]\n" +
			"    5 |   width: {{ quotee .spec.width }}\n" +
			"      |             ^^^^^^ quote\n",
		"width: {{ quote .spec.widht }}": denied + "children[map]:5:25: Size has no field .spec.widht; did you mean width? [TL030]\n" +
			"    5 |   width: {{ quote .spec.widht }}\n" +
			"      |                         ^^^^^ width\n",
		"width: {{ quote (default 1 .spec.widht) }}": "Warning: children[map]:5:36: Size has no field .spec.widht, so it is always missing; did you mean width?\n" +
			"templatecontroller.templater.dev/@id-warned created\n",
	} {
		name := "@id-wrong"
		if _, after, created := strings.Cut(want, "templatecontroller.templater.dev/"); created {
			name, _, _ = strings.Cut(after, " ")
		}
		if got, err := a.kubectl(a.authored(name, line)); got != want {
			t.Errorf("%s: %v:\n%s\nwant\n%s", line, err, got, want)
		}
	}

	a.amongTricklers()

	// The leader is stopped: the API server's requests to it are not answered, and then the other replica answers.
	first.Stop()
	a.goesThrough("without an operator")
	second.waitLeading(soon)
	a.patchWebhook(`[{"op": "replace", "path": "/webhooks/0/clientConfig/url", "value": "` + a.url(1) + `"}]`)
	a.waitChecked("the other replica")

	// Under load, the certificate repeatedly expires or is lost.
	applied, end := a.load()
	defer end()
	for applied() < 200 && !t.Failed() {
		before := a.certificate()
		a.replaceCertificate(expired(t))
		a.waitRenewed(before)
		a.delete(a.in(secrets), a.secretName())
		a.patchWebhook(`[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]`)
		a.waitRenewed(nil)
	}
	end()
	a.waitChecked("another certificate")
}

// amongTricklers expects that authors get the webhook's errors while 200 other clients send requests byte by byte, and
// reconnect when they are disconnected.
func (a *asked) amongTricklers() {
	a.t.Helper()
	const tricklers, honest = 200, 10
	ctx, stop := context.WithCancel(a.t.Context())
	var all, begun sync.WaitGroup
	begun.Add(tricklers)
	for range tricklers {
		all.Go(func() { trickle(ctx, a.addresses[0], sync.OnceFunc(begun.Done)) })
	}
	defer all.Wait()
	defer stop()
	begun.Wait()
	wrong := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(a.authored("@id-trickled", "a: {{ nothing }}")), &wrong.Object); err != nil {
		a.t.Fatal(err)
	}
	told, longest := 0, time.Duration(0)
	for range honest {
		before := time.Now()
		_, err := env.client.Resource(controllers).Create(ctx, wrong, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		longest = max(longest, time.Since(before))
		if err != nil && strings.Contains(err.Error(), "unknown function nothing") {
			told++
		}
	}
	a.t.Logf("beside %d tricklers, %d of %d writers got the error, the slowest after %s", tricklers, told, honest, longest)
	if told <= honest/2 { // the machine may be too busy for one or the other
		a.t.Errorf("beside %d tricklers, %d of %d writers got the error", tricklers, told, honest)
	}
}

// trickle announces a large request and sends it byte by byte, repeatedly until ctx is done. It calls began when the
// first one has begun.
func trickle(ctx context.Context, address string, began func()) {
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	for ctx.Err() == nil {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			continue // until ctx is done
		}
		_, err = io.WriteString(conn, "POST /validate-templatecontrollers HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n{")
		began()
		for err == nil && ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond) //nolint:forbidigo // it is slow on purpose
			_, err = io.WriteString(conn, " ")
		}
		conn.Close()
	}
}

func (a *asked) patchWebhook(patch string) {
	a.t.Helper()
	if _, err := env.client.Resource(webhooks).Patch(a.t.Context(), a.name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		a.t.Fatal(err)
	}
}

func (a *asked) secretName() string { return a.name + "-webhook" }

// certificate returns the certificate in the Secret.
func (a *asked) certificate() []byte {
	a.t.Helper()
	secret, err := env.clientset.CoreV1().Secrets(a.ns).Get(a.t.Context(), a.secretName(), metav1.GetOptions{})
	if err != nil {
		a.t.Fatal(err)
	}
	return secret.Data["tls.crt"]
}

// waitRenewed waits until the Secret has another certificate, which the API server trusts.
func (a *asked) waitRenewed(before []byte) {
	a.t.Helper()
	eventually(a.t, soon, func() error {
		secret, err := env.clientset.CoreV1().Secrets(a.ns).Get(a.t.Context(), a.secretName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		configuration, err := env.client.Resource(webhooks).Get(a.t.Context(), a.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		text, _, _ := unstructured.NestedString(configuration.Object["webhooks"].([]any)[0].(map[string]any), "clientConfig", "caBundle")
		trusted, err := base64.StdEncoding.DecodeString(text)
		block, _ := pem.Decode(secret.Data["tls.crt"])
		if err != nil || block == nil {
			return fmt.Errorf("the Secret holds no certificate: %w", err)
		}
		leaf, err := x509.ParseCertificate(block.Bytes)
		switch {
		case err != nil:
			return err
		case leaf.NotAfter.Before(time.Now()) || bytes.Equal(secret.Data["tls.crt"], before):
			return errors.New("the certificate is not renewed")
		case !bytes.Contains(trusted, secret.Data["tls.crt"]):
			return errors.New("the certificate is not trusted")
		}
		return nil
	})
}

func (a *asked) replaceCertificate(crt, key []byte) {
	a.t.Helper()
	patch := fmt.Sprintf(`{"data": {"tls.crt": %q, "tls.key": %q}}`, base64.StdEncoding.EncodeToString(crt), base64.StdEncoding.EncodeToString(key))
	if _, err := a.in(secrets).Patch(a.t.Context(), a.secretName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		a.t.Fatal(err)
	}
}

// expired returns a certificate that expired an hour ago.
func expired(t *testing.T) (crt, key []byte) {
	t.Helper()
	private, key, err := pki.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-3 * time.Hour), NotAfter: time.Now().Add(-time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key
}

// load repeatedly changes the spec of a TemplateController. It returns the number of changes, and a function to stop
// it. All changes must succeed.
func (a *asked) load() (applied func() int64, end func()) {
	a.t.Helper()
	ctx, stop := context.WithCancel(a.t.Context())
	var done sync.WaitGroup
	var count atomic.Int64
	for worker := range 4 {
		done.Go(func() {
			for round := 1; ctx.Err() == nil; round++ {
				patch := fmt.Sprintf(`{"spec": {"resyncPeriod": "%dh%dm"}}`, worker+1, round)
				_, err := env.client.Resource(controllers).Patch(context.WithoutCancel(ctx), a.expand("@id-fine"), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
				if err != nil {
					a.t.Errorf("a write under load: %v", err)
				}
				count.Add(1)
			}
		})
	}
	return count.Load, func() { stop(); done.Wait() }
}
