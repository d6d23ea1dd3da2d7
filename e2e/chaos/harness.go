package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/e2e/chaos/link"
	"github.com/templater-dev/templater/e2e/chaos/model"
	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/pki"
	"github.com/templater-dev/templater/e2e/cluster/poll"
	"github.com/templater-dev/templater/e2e/cluster/testcluster"
	"github.com/templater-dev/templater/e2e/manifest"
	"github.com/templater-dev/templater/e2e/skew"
)

// user is the prefix of the operators' user names. Each replica has its own user, so that the audit log distinguishes
// them.
const user = "templater-chaos"

// userOf returns the user of a replica, counted from 0.
func userOf(replica int) string { return fmt.Sprintf("%s-%d", user, replica+1) }

var (
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	controllers = schema.GroupVersionResource{Group: "templater.dev", Version: "v1", Resource: "templatecontrollers"}
	roles       = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	bindings    = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
)

func resourceOf(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: model.Group, Version: "v1", Resource: model.Plural(kind)}
}

// rules are additional permissions of the operators in this test.
const rules = `
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}
- {apiGroups: [""], resources: [pods/log], verbs: [get]}
- {apiGroups: [""], resources: [secrets], verbs: [get, list, watch, create, patch, delete]}
`

// bindingFor binds the ClusterRole of that name to the users of that many replicas.
func bindingFor(name string, replicas int) map[string]any {
	role := func(kind string) map[string]any {
		return map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": kind}
	}
	ref := role("ClusterRole")
	ref["name"] = name
	var subjects []any
	for i := range replicas {
		subject := role("User")
		subject["name"] = userOf(i)
		subjects = append(subjects, subject)
	}
	return map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": name},
		"roleRef": ref, "subjects": subjects,
	}
}

// harness is the environment of a trial: the cluster, the operators, and the links between them.
type harness struct {
	cluster    *testcluster.Cluster
	client     dynamic.Interface // of the administrator, bypassing the links
	links      []*link.Link      // one per replica
	operators  *operators
	leadership *leadership
	order      *order
	root       string                  // of the repository
	longest    time.Duration           // of a fault
	before     memories                // state at the last check
	failing    map[model.ParentID]bool // parents for which the last check expected a failure
	secret     string                  // occurs in parents and children only
	log        *watchedLog             // of the operators
	webhook    *webhook
	kubelet    *kubelet
	endSlow    func() error // nil unless the webhook is delayed
	out        io.Writer
	lost       int           // number of objects lost by the garbage collector
	counting   time.Duration // the longest time during which only the counts of TemplateControllers were wrong

	held        sync.WaitGroup // goroutines that remove finalizers
	permissions revoked
	mu          sync.Mutex
	failed      []error                 // errors of held
	foreign     map[model.ChildID]mark  // objects created by other clients
	readied     []readied               // since the last check
	waited      map[types.UID]string    // parents that had to be released since the last check
	freed       int                     // total number of waited
	notes       map[model.ParentID]note // what other clients have written to statuses
}

// mark identifies an object in a certain state.
type mark struct {
	uid     types.UID
	version string
	owner   types.UID // it is deleted with this owner; "" = none
}

func newHarness(ctx context.Context, o *options, dir string) (b *harness, err error) {
	cache, err := layout.Find(o.cache)
	if err != nil {
		return nil, err
	}
	b = &harness{root: filepath.Dir(filepath.Dir(cache.Source)), longest: o.longest, out: o.out, foreign: map[model.ChildID]mark{}, notes: map[model.ParentID]note{}, secret: o.seeds.secret()}
	binary, err := b.binary(ctx, o, dir)
	if err != nil {
		return nil, err
	}
	if _, err := testcluster.Find(o.cache, o.name); err == nil { // its state would be unknown, or it is used by another run
		return nil, fmt.Errorf("cluster %s is up: go run ./cluster down --name %s, or choose another --name", o.name, o.name)
	}
	b.cluster, err = testcluster.Up(ctx, testcluster.Options{Name: o.name, CacheDir: o.cache, Mode: layout.Kwok, Out: o.out})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.cluster.Down())
		}
	}()
	b.leadership, b.order = &leadership{log: b.cluster.Audit()}, newOrder(b.cluster.Audit())
	if err := b.connect(); err != nil {
		return nil, err
	}
	if b.operators, err = newOperators(ctx, binary, filepath.Join(dir, "operator.log"), o.replicas); err != nil {
		return nil, err
	}
	b.operators.grace += o.longest // it may be frozen
	b.log = newLog(b.operators.log, b.secret)
	return b, b.startLinks(dir)
}

// binary builds the operator unless a binary is given.
func (h *harness) binary(ctx context.Context, o *options, dir string) (string, error) {
	if o.operator != "" {
		return exec.LookPath(o.operator)
	}
	binary := filepath.Join(dir, "templater")
	if err := skew.Build(ctx, h.root, "./cmd/templater", binary, fmt.Sprintf("-race=%t", o.race)); err != nil {
		return "", fmt.Errorf("%w (or give one with --operator)", err)
	}
	return binary, nil
}

func (h *harness) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", h.cluster.Kubeconfig())
	if err != nil {
		return err
	}
	config.QPS, config.UserAgent, config.Timeout = -1, "chaos", 20*time.Second
	h.client, err = dynamic.NewForConfig(config)
	return err
}

// startLinks starts a link for each replica, and writes the kubeconfigs that use them.
func (h *harness) startLinks(dir string) error {
	authority, err := pki.LoadAuthority(h.cluster.PKI(""))
	if err != nil {
		return err
	}
	certificate, err := authority.Issue(pki.Subject{CommonName: "link", IPs: loopback})
	if err != nil {
		return err
	}
	server, err := tls.X509KeyPair(certificate.Cert, certificate.Key)
	if err != nil {
		return err
	}
	if h.webhook, err = startWebhook(server, authority.Certificate()); err != nil {
		return err
	}
	if h.kubelet, err = startKubelet(server); err != nil {
		return err
	}
	for i := range h.operators.replicas {
		path, err := h.startLink(authority, server, filepath.Join(dir, fmt.Sprintf("kubeconfig-%d", i+1)), userOf(i))
		if err != nil {
			return err
		}
		h.operators.kubeconfigs = append(h.operators.kubeconfigs, path)
	}
	return nil
}

func (h *harness) startLink(authority *pki.Authority, server tls.Certificate, path, user string) (string, error) {
	client, err := authority.Issue(pki.Subject{CommonName: user})
	if err != nil {
		return "", err
	}
	pair, err := tls.X509KeyPair(client.Cert, client.Key)
	if err != nil {
		return "", err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.Certificate())
	upstream := &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	l, err := link.Start(h.cluster.HostServer(), upstream, server)
	if err != nil {
		return "", err
	}
	h.links = append(h.links, l)
	return path, os.WriteFile(path, authority.Kubeconfig(l.URL(), user, client), 0o600)
}

// begin installs everything and starts the operators.
func (h *harness) begin(ctx context.Context, w *model.World) error {
	if err := h.install(ctx); err != nil {
		return err
	}
	if err := errors.Join(h.served(ctx, controllers), h.moveKubelet(ctx)); err != nil {
		return err
	}
	for _, kind := range append(slices.Clone(model.Kinds), model.PartKind) {
		if err := h.define(ctx, kind); err != nil {
			return err
		}
	}
	for _, name := range append(slices.Clone(model.Namespaces), model.Far) {
		if err := h.setNamespace(ctx, name, w.Open[name]); err != nil {
			return err
		}
	}
	for _, shape := range model.Shapes {
		if err := h.apply(ctx, controllers, w.Controllers[shape].Manifest(shape)); err != nil {
			return err
		}
	}
	return h.operators.start()
}

// install installs the CRDs of templater and the operators' RBAC.
func (h *harness) install(ctx context.Context) error {
	crds, err := manifest.Controllers(h.root)
	if err != nil {
		return err
	}
	var more []any
	if err := yaml.Unmarshal([]byte(rules), &more); err != nil {
		return err
	}
	role, err := manifest.OperatorRole(h.root, user, append(more, ofParents()...)...)
	if err != nil {
		return err
	}
	for _, crd := range crds {
		if err := h.apply(ctx, definitions, crd.Object); err != nil {
			return err
		}
	}
	if err := h.apply(ctx, roles, role.Object); err != nil {
		return err
	}
	for _, name := range []string{user, childRole} {
		if err := h.apply(ctx, bindings, bindingFor(name, len(h.operators.replicas))); err != nil {
			return err
		}
	}
	return h.changePermissions(ctx, model.Permission{}, 0)
}

func (h *harness) setNamespace(ctx context.Context, name string, open bool) error {
	metadata := map[string]any{"name": name}
	if open {
		metadata["labels"] = map[string]any{model.NamespaceLabel: "yes"}
	}
	return h.apply(ctx, namespaces, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
}

// patience is how long users retry while the API server is down, long enough for all faults of a round.
func (h *harness) patience() time.Duration { return 90*time.Second + 2*mostFaults*h.longest }

// insist retries f until it succeeds. f must be idempotent.
func (h *harness) insist(ctx context.Context, what string, f func() error) error {
	return h.insistFor(ctx, h.patience(), what, f)
}

// insistFor is insist with another timeout.
func (h *harness) insistFor(ctx context.Context, limit time.Duration, what string, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := poll.Until(ctx, 100*time.Millisecond, f); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

var errLeaving = errors.New("an earlier object of that name is being deleted")

// apply creates or changes an object as a user.
func (h *harness) apply(ctx context.Context, resource schema.GroupVersionResource, content map[string]any) error {
	o := &unstructured.Unstructured{Object: content}
	return h.insist(ctx, "apply "+o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName(), func() error {
		after, err := h.client.Resource(resource).Namespace(o.GetNamespace()).Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "user", Force: true})
		if err == nil && after.GetDeletionTimestamp() != nil {
			err = errLeaving
		}
		return err
	})
}

// leave stops everything that must not outlive us.
func (h *harness) leave() error {
	errs := []error{h.operators.stop()}
	if h.webhook != nil {
		errs = append(errs, h.webhook.close())
	}
	if h.kubelet != nil {
		errs = append(errs, h.kubelet.close())
	}
	for _, l := range h.links {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

func (h *harness) close() error { return errors.Join(h.leave(), h.cluster.Down()) }
