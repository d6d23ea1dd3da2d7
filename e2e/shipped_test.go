package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/templater-dev/templater/e2e/cluster/audit"
	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/manifest"
)

// shipped is templater with the settings of config: the memory, a service account with exactly its roles, the admission
// policy and the webhook. Its replicas are processes on this machine, where the memory limit of a Pod is not enforced:
// see withinMemory.
type shipped struct {
	*asked
	home    *scope // its namespace
	token   string // path of a kubeconfig with a token of the service account
	goLimit string
	limit   int64 // bytes
}

// replica is an operator with its metrics.
type replica struct {
	*operator
	view *view
}

// newShipped installs everything but the operator.
func newShipped(t *testing.T) *shipped {
	t.Helper()
	if env.cluster == nil || env.cluster.Mode != layout.Kwok {
		leaveOut(t, "the API server reaches this machine where it runs on it: TEMPLATER_E2E_MODE=kwok")
	}
	s := newScope(t)
	home := s.beside("home")
	home.apply(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: templater}}`)
	user := "system:serviceaccount:" + home.ns + ":templater"
	users.Store(t.Name(), user)
	role, err := manifest.OperatorRole(env.root, "own")
	if err != nil {
		t.Fatal(err)
	}
	lease, err := manifest.Read(env.root, filepath.Join("rbac", "lease.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	home.apply(strings.NewReplacer("USER", user, "EVERYWHERE", asJSON(t, rulesIn(t, role, nil)), "INSIDE", asJSON(t, rulesIn(t, lease, nil))).Replace(ownRoles))
	s.defineThing()
	s.untie(s.resource("things"))
	s.policyFor()
	sh := &shipped{asked: askedIn(s), home: home, token: home.tokenKubeconfig("templater")}
	sh.goLimit, sh.limit = shippedMemory(t)
	s.waitAllowed(user, authorizationv1.ResourceAttributes{Group: "templater.dev", Resource: "templatecontrollers", Verb: "list"})
	s.waitAllowed(user, authorizationv1.ResourceAttributes{Group: s.group, Resource: "things", Verb: "list"})
	s.waitAllowed(user, authorizationv1.ResourceAttributes{Resource: "configmaps", Verb: "create"})
	s.waitAllowed(user, authorizationv1.ResourceAttributes{Group: webhooks.Group, Resource: webhooks.Resource, Verb: "watch", Name: sh.name})
	home.waitAllowed(user, authorizationv1.ResourceAttributes{Namespace: home.ns, Resource: "secrets", Name: "templater-seal", Verb: "patch"})
	home.waitAllowed(user, authorizationv1.ResourceAttributes{Namespace: home.ns, Group: "coordination.k8s.io", Resource: "leases", Verb: "create"})
	return sh
}

// start starts a replica whose webhook listens on that address.
func (sh *shipped) start(address int) *replica {
	sh.t.Helper()
	r := &replica{view: &view{t: sh.t, metrics: freeAddress(sh.t), health: freeAddress(sh.t)}}
	r.operator = startOperatorIn(sh.t, []string{"GOMEMLIMIT=" + sh.goLimit, "POD_NAMESPACE=" + sh.home.ns}, operatorOf(sh.t),
		"--kubeconfig", sh.token, "--leader-elect", "--seal-namespace", sh.home.ns, "--log-level=info",
		"--metrics-bind-address", r.view.metrics, "--health-probe-bind-address", r.view.health, "--webhook-bind-address", sh.addresses[address])
	return r
}

// lives expects that the operator is running, and that its peak memory is within the container limit.
func (r *replica) lives(limit int64) {
	r.t.Helper()
	select {
	case err := <-r.exited:
		r.over = true
		r.t.Fatalf("a replica has ended: %v", err)
	default:
	}
	r.withinMemory(limit)
	m, err := r.view.scrape()
	if err != nil {
		r.t.Fatal(err)
	}
	if got := m["process_resident_memory_bytes"]; got <= 0 || got >= float64(limit) {
		r.t.Errorf("process_resident_memory_bytes is %v; the limit is %d", got, limit)
	}
}

// tokenKubeconfig writes a kubeconfig with a token of a service account in the scope's namespace, as a Pod has.
func (s *scope) tokenKubeconfig(account string) string {
	s.t.Helper()
	token, err := env.clientset.CoreV1().ServiceAccounts(s.ns).CreateToken(s.t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(env.kubeconfig)
	if err == nil {
		err = clientcmdapi.FlattenConfig(config)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{account: {Token: token.Status.Token}}
	for _, c := range config.Contexts {
		c.AuthInfo = account
	}
	path := filepath.Join(s.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// beside returns a scope with the same kinds and another namespace.
func (s *scope) beside(name string) *scope {
	s.t.Helper()
	other := &scope{t: s.t, id: s.id, ns: s.id + "-" + name, group: s.group, manager: s.manager}
	s.t.Cleanup(other.remove)
	other.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: "@ns"}}`)
	return other
}

// untie removes all finalizers from the objects of a resource after the operator has stopped, so that their CRD can be
// deleted.
func (s *scope) untie(resource schema.GroupVersionResource) {
	s.t.Cleanup(func() {
		ctx := context.WithoutCancel(s.t.Context())
		list, err := s.in(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			s.t.Error(err)
			return
		}
		for _, o := range list.Items {
			if len(o.GetFinalizers()) > 0 {
				s.patchQuietly(s.in(resource), o.GetName(), `{"metadata":{"finalizers":null}}`)
			}
		}
	})
}

// still waits until the operator has written nothing for that long, except what requests leaves out. Retries of
// rejected watches do not count.
func (r *replica) still(long time.Duration) {
	r.t.Helper()
	since, began := mark(r.t), time.Now()
	eventually(r.t, soon, func() error {
		now := mark(r.t)
		writes := r.writes(since)
		if since = now; len(writes) > 0 {
			began = time.Now()
			return fmt.Errorf("the operator writes: %v", writes[len(writes)-1])
		}
		if time.Since(began) < long {
			return fmt.Errorf("the operator has written nothing for %s only", time.Since(began))
		}
		return nil
	})
}

// compilations counts how often the operator has read a TemplateController with that name prefix within a period, which
// it does to compile a spec that is too large to keep.
func (op *operator) compilations(since audit.Mark, prefix string, from, until time.Time) int {
	op.t.Helper()
	events, err := env.cluster.Audit().Since(since, func(e audit.Event) bool {
		return e.User.Username == op.user && e.Verb == "get" && e.ObjectRef.Resource == controllers.Resource && strings.HasPrefix(e.ObjectRef.Name, prefix) &&
			e.Received.After(from) && e.Received.Before(until)
	})
	if err != nil {
		op.t.Fatal(err)
	}
	return len(events)
}
