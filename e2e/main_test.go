// Package e2e tests the built operator on a real cluster. Each test states a promise of the operator; the harness is in
// main_test.go, operator_test.go, requests_test.go, scope_test.go and wait_test.go.
//
//	go test -run TestDrift .                      # on its own cluster, named e2e
//	TEMPLATER_E2E_KEEP=1 go test .                # keep that cluster running
//	TEMPLATER_E2E_CLUSTER=mine go test .          # use another cluster name
//	TEMPLATER_E2E_MODE=kwok go test .             # with simulated Pods
//	TEMPLATER_E2E_KUBECONFIG=~/.kube/config go test .   # on an existing cluster
//	TEMPLATER_E2E_SKEW=-10m go test .     # with the operators' clock 10 minutes behind
//	TEMPLATER_E2E_OPERATOR=../bin/templater go test .   # with an already built operator
package e2e

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/poll"
	"github.com/templater-dev/templater/e2e/cluster/testcluster"
	"github.com/templater-dev/templater/e2e/manifest"
	"github.com/templater-dev/templater/e2e/skew"
)

// env is shared by all tests.
var env environment

type environment struct {
	cluster    *testcluster.Cluster // nil for an existing cluster: there is no audit log
	kubeconfig string               // of the administrator
	kubectl    string
	root       string // of the repository
	binary     string // path of the operator
	client     dynamic.Interface
	clientset  kubernetes.Interface
	mapper     *restmapper.DeferredDiscoveryRESTMapper
}

// atOnce is the default of -parallel. The channel places limits how many of these tests are busy.
const atOnce = "64"

// seed is fixed by default, so that a failure is caused by a change.
var seed = flag.Uint64("seed", 1, "seed of the random tests; 0 draws one")

// randomSeed returns the seed of a random test, and logs it.
func randomSeed(t *testing.T) uint64 {
	t.Helper()
	drawn := *seed
	if drawn == 0 {
		drawn = rand.Uint64() >> 32
	}
	t.Logf("run it again with -seed %d", drawn)
	return drawn
}

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	flag.Parse()
	if list := flag.Lookup("test.list"); list != nil && list.Value.String() != "" {
		os.Exit(m.Run())
	}
	code, err := run(context.Background(), m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func run(ctx context.Context, m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "templater-e2e-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if env.root, err = filepath.Abs(".."); err != nil {
		return 0, err
	}
	if err := env.build(ctx, dir); err != nil {
		return 0, err
	}
	down, err := env.up(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, down()) }()
	if err := env.connect(); err != nil {
		return 0, err
	}
	if err := env.install(ctx); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// build builds the operator into the folder, unless a binary is given.
func (e *environment) build(ctx context.Context, dir string) error {
	if e.binary = os.Getenv("TEMPLATER_E2E_OPERATOR"); e.binary != "" {
		return nil
	}
	e.binary = filepath.Join(dir, "templater")
	if text := os.Getenv("TEMPLATER_E2E_SKEW"); text != "" {
		return e.buildSkewed(ctx, dir, text)
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", e.binary, "./cmd/templater")
	build.Dir = e.root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the operator: %w: %s", err, out)
	}
	return nil
}

// buildSkewed builds the operator, and sets the clock of all operators ahead by offset.
func (e *environment) buildSkewed(ctx context.Context, dir, offset string) error {
	by, err := time.ParseDuration(offset)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "clock")
	return errors.Join(skew.Set(file, by), os.Setenv(skew.Variable, file), skew.Build(ctx, e.root, "./cmd/templater", e.binary))
}

// up finds or starts the cluster, and returns a function that stops it.
func (e *environment) up(ctx context.Context) (down func() error, err error) {
	nothing := func() error { return nil }
	if path := os.Getenv("TEMPLATER_E2E_KUBECONFIG"); path != "" {
		e.kubeconfig = path
		e.kubectl, err = exec.LookPath("kubectl")
		if cache, found := layout.Find(""); err != nil && found == nil {
			e.kubectl, err = cache.Bin("kubectl"), nil
		}
		return nothing, err
	}
	e.cluster, err = testcluster.Up(ctx, testcluster.Options{
		Name: cmp.Or(os.Getenv("TEMPLATER_E2E_CLUSTER"), "e2e"), Mode: layout.Mode(os.Getenv("TEMPLATER_E2E_MODE")), Out: os.Stderr,
	})
	if err != nil {
		return nil, err
	}
	e.kubeconfig, e.kubectl = e.cluster.Kubeconfig(), e.cluster.Kubectl()
	if os.Getenv("TEMPLATER_E2E_KEEP") != "" {
		return nothing, nil
	}
	return e.cluster.Down, nil
}

func (e *environment) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", e.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	if e.client, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	e.clientset = clientset
	e.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(clientset.Discovery()))
	return nil
}

// install installs the TemplateController CRD and the operator's role. The kinds are listed explicitly, because the
// operator must not have permissions that an administrator would not grant.
func (e *environment) install(ctx context.Context) error {
	if err := e.run(ctx, "", "apply", "--server-side", "-k", filepath.Join(e.root, "config", "crd")); err != nil {
		return err
	}
	// Before the API server has processed a CRD, its conditions are null, which is an error for kubectl wait.
	err := poll.For(time.Minute, 100*time.Millisecond, func() error {
		return e.run(ctx, "", "wait", "--for=condition=Established", "--timeout=30s", "crd/templatecontrollers.templater.dev", "crd/namespacedtemplatecontrollers.templater.dev", "crd/templaterevisions.templater.dev")
	})
	if err != nil {
		return err
	}
	role, err := manifest.OperatorRole(e.root, operators)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(role)
	if err != nil {
		return err
	}
	all := []string{string(text), operatorRights}
	for _, group := range collectedGroups {
		all = append(all, strings.ReplaceAll(definition("Thing", "Namespaced"), "@group", group))
	}
	return e.run(ctx, strings.Join(all, "---\n"), "apply", "--server-side", "-f", "-")
}

func (e *environment) run(ctx context.Context, stdin string, args ...string) error {
	if out, err := e.command(ctx, stdin, args...); err != nil {
		return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

func (e *environment) command(ctx context.Context, stdin string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, e.kubectl, append([]string{"--kubeconfig", e.kubeconfig}, args...)...)
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	return string(out), err
}

// shell is a command of a page, with kubectl in the PATH and the given default namespace, if not empty.
func (e *environment) shell(ctx context.Context, namespace, command string) *exec.Cmd {
	run := exec.CommandContext(ctx, "sh", "-c", `kubectl() { "$KUBECTL" --kubeconfig "$CONFIG" ${NAMESPACE:+--namespace "$NAMESPACE"} "$@"; }; `+command)
	run.Dir = e.root
	run.Env = append(os.Environ(), "KUBECTL="+e.kubectl, "CONFIG="+e.kubeconfig, "NAMESPACE="+namespace)
	return run
}

// userKubeconfig writes a kubeconfig for a user who has only the permissions granted to that name. On an existing
// cluster it impersonates.
func (e *environment) userKubeconfig(t *testing.T, user string) string {
	t.Helper()
	if e.cluster != nil {
		path, err := e.cluster.WriteUserKubeconfig(t.TempDir(), user, groupsOf(user)...)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	config, err := clientcmd.LoadFromFile(e.kubeconfig)
	if err == nil {
		err = clientcmdapi.FlattenConfig(config)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, auth := range config.AuthInfos {
		auth.Impersonate, auth.ImpersonateGroups = user, append(groupsOf(user), "system:authenticated")
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// sealRights are the permissions on the seal keys, as in config/rbac.
const sealRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {namespace: templater-e2e, name: seals}
rules:
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [templater-seal]
  verbs: [create, list, patch, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: templater-e2e, name: seals}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: seals}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: templater-e2e}]
`

// operatorRights bind the operator's own role, and grant the permissions on children that tests need. A test that needs
// more grants them to its own operator.
const operatorRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: templater-e2e-children}
rules:
- apiGroups: [""]
  resources: [configmaps, secrets, services, serviceaccounts, pods, persistentvolumeclaims]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [apps]
  resources: [deployments, statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [batch]
  resources: [jobs, cronjobs]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [ingresses, networkpolicies]
  verbs: [get, list, watch, create, patch, delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: templater-e2e}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: templater-e2e}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: templater-e2e}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: templater-e2e-children}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: templater-e2e-children}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: templater-e2e}]
---
apiVersion: v1
kind: Namespace
metadata: {name: templater-e2e}
---
` + sealRights
