package podlogs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// kubelet responds to log requests with a delay, and records them.
type kubelet struct {
	f     *Fetcher
	takes time.Duration

	mu      sync.Mutex
	asked   []string // "as/namespace/pod/container"
	now     map[string]int
	most    map[string]int // concurrent requests, per tenant and for "all"
	charged map[string]time.Duration
	rests   map[string]bool // TemplateControllers that reconcile no parents
	answers map[string]string
	errors  map[string]error
	woken   []string // "parent after"
	changed map[string]int
}

// run runs a test with its own kubelet and clock.
func run(t *testing.T, test func(t *testing.T, k *kubelet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := &kubelet{takes: 10 * time.Millisecond, now: map[string]int{}, most: map[string]int{}, answers: map[string]string{}, errors: map[string]error{}, changed: map[string]int{}, charged: map[string]time.Duration{}, rests: map[string]bool{}}
		k.f = New(Options{
			Reader:  func(as string) Reader { return reader{k, as} },
			Tenant:  tenantOf,
			Runs:    func(name string) bool { k.mu.Lock(); defer k.mu.Unlock(); return !k.rests[name] },
			Charge:  func(name string, took time.Duration) { k.mu.Lock(); defer k.mu.Unlock(); k.charged[name] += took },
			Wake:    func(key queue.Key, after time.Duration) { k.note(fmt.Sprintf("%s %s", key.Parent.Name, after)) },
			Changed: func(name string) { k.mu.Lock(); defer k.mu.Unlock(); k.changed[name]++ },
		})
		defer k.f.Close()
		test(t, k)
	})
}

// tenantOf returns NAME for the TemplateControllers NAME/1, NAME/2 and so on.
func tenantOf(controller string) string {
	name, _, _ := strings.Cut(controller, "/")
	return name
}

func (k *kubelet) note(woken string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.woken = append(k.woken, woken)
}

// rest stops or resumes the reconciliations of a TemplateController.
func (k *kubelet) rest(controller string, rests bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rests[controller] = rests
}

// set sets the response for a log.
func (k *kubelet) set(name, text string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answers[name], k.errors[name] = text, err
}

// take returns the requested logs and the enqueued parents since the last call, both sorted.
func (k *kubelet) take() (asked, woken []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	asked, woken = k.asked, k.woken
	k.asked, k.woken = nil, nil
	slices.Sort(asked)
	slices.Sort(woken)
	return asked, woken
}

type reader struct {
	k  *kubelet
	as string
}

func (r reader) Log(ctx context.Context, namespace, pod, container string, _ request.LogOptions) (string, error) {
	k := r.k
	k.mu.Lock()
	k.asked = append(k.asked, r.as+"/"+namespace+"/"+pod+"/"+container)
	for _, who := range []string{"all", tenantOf(r.as)} {
		k.now[who]++
		k.most[who] = max(k.most[who], k.now[who])
	}
	k.mu.Unlock()
	var err error
	select {
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(k.takes):
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, who := range []string{"all", tenantOf(r.as)} {
		k.now[who]--
	}
	return k.answers[pod+"/"+container], errors.Join(err, k.errors[pod+"/"+container])
}

// pod returns a Pod with one container, c.
func pod(name string, run ran) *object.Object {
	o, err := object.From(map[string]any{
		"metadata": map[string]any{"namespace": "ns", "name": name, "uid": "uid-" + name},
		"status":   map[string]any{"containerStatuses": []any{containerStatus("c", run)}},
	})
	if err != nil {
		panic(err)
	}
	return o
}

func containerStatus(name string, run ran) map[string]any {
	if run.ended {
		return map[string]any{"name": name, "state": map[string]any{"terminated": map[string]any{"containerID": run.id}}}
	}
	return map[string]any{"name": name, "containerID": run.id, "state": map[string]any{"running": map[string]any{}}}
}

var (
	ended   = ran{"1", true}
	runs    = ran{"1", false}
	options = request.LogOptions{TailLines: 20, LimitBytes: 4096}
)

func key(parent string) queue.Key { return keyOf("x", parent) }

func keyOf(controller, parent string) queue.Key {
	return queue.Key{Controller: controller, Parent: types.NamespacedName{Namespace: "ns", Name: parent}}
}

const resync = 10 * time.Minute

// reconcile reads the logs of these Pods in one reconciliation of a parent. It returns the texts by Pod and container.
func (k *kubelet) reconcile(parent string, pods ...*object.Object) map[string]string {
	s := k.f.Begin(key(parent), "", resync)
	defer s.End()
	out := map[string]string{}
	for _, p := range pods {
		for container, text := range s.Logs(p, options) {
			out[p.Name()+"/"+container] = text
		}
	}
	return out
}

// expect compares the requested logs and the enqueued parents since the last call.
func (k *kubelet) expect(t *testing.T, asked, woken []string) {
	t.Helper()
	synctest.Wait()
	gotAsked, gotWoken := k.take()
	if !slices.Equal(gotAsked, asked) {
		t.Errorf("asked for %q, want %q", gotAsked, asked)
	}
	if !slices.Equal(gotWoken, woken) {
		t.Errorf("woke %q, want %q", gotWoken, woken)
	}
}

// empty checks that nothing is kept.
func (k *kubelet) empty(t *testing.T) {
	t.Helper()
	synctest.Wait()
	f := k.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.logs)+len(f.parents)+len(f.tenants.of)+f.tenants.held+int(f.holding.Load()) > 0 {
		t.Errorf("kept: logs %v, parents %v, tenants %v, bytes %d, holding %d", f.logs, f.parents, slices.Collect(maps.Keys(f.tenants.of)), f.tenants.held, f.holding.Load())
	}
}

// answer builds an API server error.
var answer = memserver.Refusal

var (
	errForbidden = answer(http.StatusForbidden, metav1.StatusReasonForbidden, `pods "a" is forbidden: User "u" cannot get resource "pods/log" in API group "" in the namespace "ns"`)
	errAway      = answer(http.StatusInternalServerError, metav1.StatusReasonInternalError, "dial tcp: no route to host")
	errNotBegun  = answer(http.StatusBadRequest, metav1.StatusReasonBadRequest, "container c is waiting to start")
)

// pause advances the clock of the test.
func pause(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
