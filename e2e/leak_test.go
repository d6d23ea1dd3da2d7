package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/kube/leader"
	templater "github.com/templater-dev/templater/internal/operator"
)

// inside is an operator in the test process, where goleak can inspect its goroutines. All other tests run the built
// binary.
type inside struct {
	t      *testing.T
	view   *view
	config *rest.Config
	log    *os.File
	cancel context.CancelFunc
	result chan error
	over   bool
}

// startInside starts an operator with everything enabled: a Lease in the test's namespace, and all its servers.
func startInside(s *scope) *inside {
	s.t.Helper()
	cluster := cli.Cluster{Kubeconfig: env.userKubeconfig(s.t, userA(s.t))}
	config, err := cluster.Config()
	if err != nil {
		s.t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(s.t.TempDir(), "operator.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	v := &view{t: s.t, metrics: freeAddress(s.t), health: freeAddress(s.t), pprof: freeAddress(s.t)}
	op := &inside{t: s.t, view: v, config: config, log: file, result: make(chan error, 1)}
	var ctx context.Context
	ctx, op.cancel = context.WithCancel(klog.NewContext(context.WithoutCancel(s.t.Context()), logr.FromSlogHandler(slog.NewTextHandler(file, nil))))
	go func() {
		op.result <- templater.Run(ctx, templater.Options{
			Config: config, Workers: mostWorkers, RolloutWorkers: 2, ClassName: classOf(s.t), SealNamespace: operators,
			Lease: &leader.Lease{Namespace: s.ns, Name: "templater", Identity: "inside"},
			Serve: templater.Addresses{Metrics: v.metrics, Health: v.health, Pprof: v.pprof},
		})
	}()
	s.t.Cleanup(op.stop)
	return op
}

// stop stops the operator and closes its idle connections: client-go keeps these for the next client of the same user.
func (op *inside) stop() {
	op.t.Helper()
	if op.over {
		return
	}
	op.over = true
	op.cancel()
	if err := <-op.result; err != nil {
		op.t.Errorf("the operator stopped with an error: %v", err)
	}
	if err := op.log.Close(); err != nil {
		op.t.Error(err)
	}
	if op.t.Failed() {
		text, err := os.ReadFile(op.log.Name())
		op.t.Logf("the operator's log (%v):\n%s", err, tail(text, 40))
	}
	transport, err := rest.TransportFor(op.config)
	if err != nil {
		op.t.Error(err)
		return
	}
	utilnet.CloseIdleConnectionsFor(transport)
}

// watches returns the number of running watches.
func (op *inside) watches() (float64, error) {
	m, err := op.view.scrape()
	http.DefaultClient.CloseIdleConnections() // both ends of these connections are in this process
	return m["templater_watches"], err
}

// visitor is a TemplateController that is created and deleted. In its spec, @number is its number, and @place that of
// the Thing t-@place, which always exists.
type visitor struct {
	what, spec string
	// settled returns nil once the operator has nothing left to do for it.
	settled func(s *scope, number, place string) error
}

func (v visitor) settle(s *scope, number, place int) {
	s.t.Helper()
	eventually(s.t, soon, func() error {
		if err := v.settled(s, strconv.Itoa(number), strconv.Itoa(place)); err != nil {
			return fmt.Errorf("a TemplateController %s: %w", v.what, err)
		}
		return nil
	})
}

// controllerIs returns an error unless the visitor has that condition.
func (s *scope) controllerIs(number, conditionType, status, reason string) error {
	o, err := env.client.Resource(controllers).Get(s.t.Context(), s.id+"-"+number, getOptions)
	if err != nil {
		return err
	}
	return condition(o, conditionType, status, reason)
}

var visitors = []visitor{
	{"that works", `
watch: {apiVersion: "@group/v1", kind: Thing, labelSelector: {matchLabels: {place: "@place"}}}
whenDeleted: DeleteChildren
children:
- name: config
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}"}
`, func(s *scope, number, place string) error {
		o, err := s.in(configMaps).Get(s.t.Context(), "t-"+place, getOptions)
		if err != nil {
			return err
		}
		return errors.Join(same("controller", s.id+"-"+number, o.GetLabels()["templater.dev/controller"]), s.controllerIs(number, "Ready", "True", ""))
	}},
	{"whose child kind is missing", `
watch: {apiVersion: "@group/v1", kind: Thing, labelSelector: {matchLabels: {place: "@place"}}}
status: {readyCondition: "Ready@number"}
whenDeleted: DeleteChildren
children:
- name: gadget
  template: |
    apiVersion: @group/v1
    kind: Gadget
    metadata: {name: "{{ .metadata.name }}"}
`, func(s *scope, number, place string) error {
		o, err := s.things().Get(s.t.Context(), "t-"+place, getOptions)
		if err != nil {
			return err
		}
		return condition(o, "Ready"+number, "False", "ChildKindNotFound")
	}},
	{"whose watched kind is missing", `
watch: {apiVersion: "@group/v1", kind: Gadget, labelSelector: {matchLabels: {place: "@place"}}}
children:
- name: config
  template: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: none}"
`, func(s *scope, number, _ string) error {
		return s.controllerIs(number, "Watching", "False", "KindNotFound")
	}},
}

// guest has a watched kind that is created and deleted.
var guest = visitor{"whose watched kind is created", `
watch: {apiVersion: "@group/v1", kind: Widget}
children:
- name: config
  template: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: none}"
`, func(s *scope, number, _ string) error { return s.controllerIs(number, "Ready", "True", "") }}

// visit creates and deletes atATime TemplateControllers, numbered from first.
func (s *scope) visit(first, atATime int) {
	s.t.Helper()
	by := func(place int) visitor {
		if place == 0 {
			return guest
		}
		return visitors[place%len(visitors)]
	}
	s.define("Widget", "Namespaced")
	for place := range atATime {
		number := strconv.Itoa(first + place)
		s.applyController("@id-"+number, strings.NewReplacer("@number", number, "@place", strconv.Itoa(place)).Replace(by(place).spec))
	}
	for place := range atATime {
		by(place).settle(s, first+place, place)
	}
	s.undefine("widgets")
	s.waitController(fmt.Sprintf("@id-%d", first), func(o *unstructured.Unstructured) error {
		return condition(o, "Watching", "False", "KindNotFound")
	})
	for place := range atATime {
		s.delete(env.client.Resource(controllers), fmt.Sprintf("@id-%d", first+place))
	}
	for place := range atATime {
		waitGone(s.t, env.client.Resource(controllers), fmt.Sprintf("%s-%d", s.id, first+place))
	}
}

// next are the functions in which a worker waits for work. A worker that waits long for a response is replaced by
// another, so workers are counted, not identified.
var next = []string{
	"github.com/templater-dev/templater/internal/operator/controllers.(*Controllers).next",
	"github.com/templater-dev/templater/internal/reconcile.(*Reconciler).Next",
}

// mostWorkers is the operator's number of parent workers, and the limit for idle workers.
const mostWorkers = 32

// fewWorkers returns an error if there are more idle workers than the operator keeps.
func fewWorkers(now map[string]int) error {
	for function, count := range now {
		if count > mostWorkers {
			return fmt.Errorf("%d workers at %s, want %d at most", count, function, mostWorkers)
		}
	}
	return nil
}

// workers returns the number of goroutines in each function of next.
func workers(t *testing.T) map[string]int {
	t.Helper()
	var stacks bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&stacks, 2); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, function := range next {
		counts[function] = bytes.Count(stacks.Bytes(), []byte("\n"+function+"("))
	}
	return counts
}

// TestTemplateControllersLeakNoGoroutines compares twice: while the operator is running, for goroutines that pile up,
// and after it has stopped, for goroutines that are left.
func TestTemplateControllersLeakNoGoroutines(t *testing.T) {
	const number, atATime = 200, 20
	s := newSharedScope(t)
	for place := range atATime {
		s.apply(fmt.Sprintf(`{apiVersion: "@group/v1", kind: Thing, metadata: {name: t-%d, labels: {place: "%d"}}, spec: {color: red}}`, place, place))
	}
	stopped := goleak.IgnoreCurrent()
	op := startInside(s)
	s.controllerNamed("@id-stays", `
watch: {apiVersion: "@group/v1", kind: Thing, labelSelector: {matchLabels: {place: stays}}}
children:`+configMapsOf("drop", ""))
	s.apply(`{apiVersion: "@group/v1", kind: Thing, metadata: {name: one, labels: {place: stays}}, spec: {drop: {a: "1"}}}`)
	waitFor(t, s.in(configMaps), "one-drop-a", nil)
	s.visit(0, atATime) // creates whatever is created once and kept
	watches, err := op.watches()
	if err != nil || watches == 0 {
		t.Fatalf("%v watches, error %v", watches, err)
	}
	running := []goleak.Option{goleak.IgnoreCurrent(), goleak.IgnoreAnyFunction(next[0]), goleak.IgnoreAnyFunction(next[1])}
	if now := workers(t); now[next[0]] == 0 || now[next[1]] == 0 {
		t.Fatalf("workers: %v, want some of both", now)
	}
	for first := atATime; first < atATime+number; first += atATime {
		s.visit(first, atATime)
	}
	eventually(t, soon, func() error {
		now, err := op.watches()
		return errors.Join(err, same("watches", watches, now), fewWorkers(workers(t)), goleak.Find(running...))
	})
	op.stop()
	eventually(t, soon, func() error { return goleak.Find(stopped) })
}
