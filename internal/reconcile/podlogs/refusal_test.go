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

// told are the failures of a controller, as far as they are not said in other words: by what they are about.
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

// TestFailuresAreGrouped has logs fail in several ways. A missing right is told once for each namespace, anything else once.
func TestFailuresAreGrouped(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		const none, away = "the server has none", "the kubelet is away"
		gone, broken := answer(404, "NotFound", none), answer(410, "Gone", away)
		for name, err := range map[string]error{"a": errForbidden, "b": errForbidden, "c": gone, "d": gone, "e": broken} {
			k.set(name+"/c", "", err)
		}
		pods := []*object.Object{ // in a namespace where a right is missing, the refusal counts for all of them
			podIn(t, "far", "b"), podIn(t, "far", "a"), podIn(t, "ns", "a"), podIn(t, "ns", "b"),
			podIn(t, "calm", "d"), podIn(t, "calm", "c"), podIn(t, "calm", "e"), podIn(t, "quiet", "c"),
		}
		k.pass("p", pods...)
		other := k.f.Begin(keyOf("y", "p"), "", resync)
		other.Logs(podIn(t, "third", "a"), options)
		other.End()
		pause(time.Second)
		want := []string{"calm/c/c 3 " + unread(gone), "calm/e/c 1 " + unread(broken), "far/a/c 2 denied", "ns/a/c 2 denied"}
		if got := told(k.f.Failures("x")); !slices.Equal(got, want) {
			t.Errorf("failures are %q, want %q", got, want)
		}
		if got, want := told(k.f.Failures("y")), []string{"third/a/c 1 denied"}; !slices.Equal(got, want) {
			t.Errorf("those of another controller are %q, want %q", got, want)
		}
	})
}

// TestARefusalThatIsBelievedDoesNotLastLonger has another log asked for while the refusal of the first one counts.
func TestARefusalThatIsBelievedDoesNotLastLonger(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		k.set("a/c", "", errForbidden)
		k.set("b/c", "", errForbidden)
		k.pass("p", pod("a", ended))
		pause(deniedFor - 10*time.Second)
		k.pass("p", pod("a", ended), pod("b", ended))
		pause(11 * time.Second)
		k.expect(t, []string{"/ns/a/c", "/ns/a/c"}, nil)
	})
}

// TestWhoIsRefusedAsksSeldom has an account lack a right for long. Each log is asked for by itself now and then.
func TestWhoIsRefusedAsksSeldom(t *testing.T) {
	run(t, func(t *testing.T, k *kubelet) {
		var pods []*object.Object
		const logs = 20
		for i := range logs {
			name := fmt.Sprint("a", i)
			pods = append(pods, pod(name, ended))
			k.set(name+"/c", "", errForbidden)
		}
		k.pass("p", pods...)
		pause(time.Hour)
		asked, _ := k.take()
		if each := logs * int(time.Hour/deniedFor); len(asked) > each/4 {
			t.Errorf("asked %d times, nearly as often as if each were asked for by itself, which is %d times", len(asked), each)
		}
	})
}

// TestALogThatIsTriedAgainAnywayIsNotAskedFor makes passes while a retry is due later.
func TestALogThatIsTriedAgainAnywayIsNotAskedFor(t *testing.T) {
	for name, known := range map[string]bool{"it was never read": false, "it was read before": true} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, k *kubelet) {
				pass := func() {
					s := k.f.Begin(key("p"), "", time.Second)
					s.Logs(pod("a", runs), options)
					s.End()
					synctest.Wait()
				}
				if known {
					k.set("a/c", "text", nil)
					pass()
					pause(2 * time.Second)
				}
				k.set("a/c", "", errAway)
				pass()
				pause(2 * time.Second)
				k.take()
				pass()
				pause(time.Second)
				k.expect(t, nil, nil)
				pause(firstLogRetry)
				k.expect(t, []string{"/ns/a/c"}, nil)
			})
		})
	}
}
