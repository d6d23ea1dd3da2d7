package podlogs

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/object"
)

// podIn is pod in another namespace.
func podIn(t *testing.T, namespace, name string) *object.Object {
	t.Helper()
	content := pod(name, ended).Content()
	content["metadata"] = map[string]any{"namespace": namespace, "name": name, "uid": string(types.UID(namespace + name)), "resourceVersion": "1"}
	o, err := object.From(content)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// told returns the failures of a controller as text.
func told(all []Failure) []string {
	var out []string
	for _, f := range all {
		what := f.Why()
		if f.Denied() {
			what = "denied"
		}
		out = append(out, fmt.Sprintf("%s/%s/%s %d %s", f.Namespace, f.Pod, f.Container, f.Logs, what))
	}
	return out
}

// TestLogFailuresAreGrouped: logs fail in several ways. A missing permission is reported once per namespace, any other
// failure once.
func TestLogFailuresAreGrouped(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		const none, away = "the server has none", "the kubelet is away"
		gone, broken := answer(404, "NotFound", none), answer(410, "Gone", away)
		for name, err := range map[string]error{"a": errForbidden, "b": errForbidden, "c": gone, "d": gone, "e": broken} {
			k.set(name+"/c", "", err)
		}
		pods := []*object.Object{ // in a namespace with a missing permission, the denial counts for all of them
			podIn(t, "far", "b"), podIn(t, "far", "a"), podIn(t, "ns", "a"), podIn(t, "ns", "b"),
			podIn(t, "calm", "d"), podIn(t, "calm", "c"), podIn(t, "calm", "e"), podIn(t, "quiet", "c"),
		}
		k.reconcile("p", pods...)
		other := k.f.Begin(keyOf("y", "p"), "", resync)
		other.Logs(podIn(t, "third", "a"), options)
		other.End()
		pause(time.Second)
		want := []string{"calm/c/c 3 " + failureText(gone), "calm/e/c 1 " + failureText(broken), "far/a/c 2 denied", "ns/a/c 2 denied"}
		if got := told(k.f.Failures("x")); !slices.Equal(got, want) {
			t.Errorf("failures are %q, want %q", got, want)
		}
		if got, want := told(k.f.Failures("y")), []string{"third/a/c 1 denied"}; !slices.Equal(got, want) {
			t.Errorf("those of another controller are %q, want %q", got, want)
		}
	})
}

// TestForbiddenBackoffIsNotExtended requests another log while the denial of the first one counts.
func TestForbiddenBackoffIsNotExtended(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.set("a/c", "", errForbidden)
		k.set("b/c", "", errForbidden)
		k.reconcile("p", pod("a", ended))
		pause(deniedFor - 10*time.Second)
		k.reconcile("p", pod("a", ended), pod("b", ended))
		pause(11 * time.Second)
		k.expect(t, []string{"/ns/a/c", "/ns/a/c"}, nil)
	})
}

// TestForbiddenLogRequestsAreRare: a service account lacks a permission for long. Each log is requested itself from
// time to time.
func TestForbiddenLogRequestsAreRare(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		var pods []*object.Object
		const logs = 20
		for i := range logs {
			name := fmt.Sprint("a", i)
			pods = append(pods, pod(name, ended))
			k.set(name+"/c", "", errForbidden)
		}
		k.reconcile("p", pods...)
		pause(time.Hour)
		asked, _ := k.take()
		if each := logs * int(time.Hour/deniedFor); len(asked) > each/4 {
			t.Errorf("asked %d times, nearly as often as if each were asked for by itself, which is %d times", len(asked), each)
		}
	})
}

// TestScheduledRetryIsNotRequestedAgain reconciles while a retry is scheduled for later.
func TestScheduledRetryIsNotRequestedAgain(t *testing.T) {
	for name, known := range map[string]bool{"it was never read": false, "it was read before": true} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, k *kubelet) {
				reconcile := func() {
					s := k.f.Begin(key("p"), "", time.Second)
					s.Logs(pod("a", runs), options)
					s.End()
					synctest.Wait()
				}
				if known {
					k.set("a/c", "text", nil)
					reconcile()
					pause(2 * time.Second)
				}
				k.set("a/c", "", errAway)
				reconcile()
				pause(2 * time.Second)
				k.take()
				reconcile()
				pause(time.Second)
				k.expect(t, nil, nil)
				pause(firstLogRetry)
				k.expect(t, []string{"/ns/a/c"}, nil)
			})
		})
	}
}
