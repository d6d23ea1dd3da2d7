package permissions

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

func waitingKey(i int) queue.Key {
	return queue.Key{Controller: "apps", Parent: types.NamespacedName{Namespace: "ns", Name: fmt.Sprint(i)}}
}

// patchIn returns the permission to patch ConfigMaps in a namespace.
func patchIn(namespace string) problem.Denial {
	return problem.Denial{User: robot, Verb: "patch", Resource: "configmaps", Namespace: namespace}
}

// TestRetryRateOfManyParentsIsLimited computes the retries per second of many parents that wait for one permission.
func TestRetryRateOfManyParentsIsLimited(t *testing.T) {
	for _, row := range []struct {
		why        string
		parents    int
		namespaces int
		longest    time.Duration // wait
		perSecond  float64
	}{
		{"one", 1, 1, 33 * time.Second, 0.034},
		{"a few in one namespace", 20, 1, 33 * time.Second, 0.7},
		{"many in one namespace", 10_000, 1, 66 * time.Minute, 2.8},
		{"many, each in a namespace", 10_000, 10_000, 330 * time.Second, 34},
		{"some, each in a namespace", 1_000, 1_000, 110 * time.Second, 10.1},
	} {
		t.Run(row.why, func(t *testing.T) {
			w := NewWaiting()
			var longest time.Duration
			rate := 0.0
			for try := range 20 {
				longest, rate = 0, 0
				for i := range row.parents {
					wait, _ := w.Add(waitingKey(i), patchIn(fmt.Sprint(i%row.namespaces)))
					longest = max(longest, wait)
					rate += 1 / wait.Seconds()
				}
				if try == 0 && row.parents == 1 && longest > time.Second {
					t.Errorf("the first wait is %s, want the first of a growing row", longest)
				}
			}
			if longest > row.longest || rate > row.perSecond {
				t.Errorf("the longest wait is %s, and there are %.2f retries a second; want at most %s and %.2f", longest, rate, row.longest, row.perSecond)
			}
		})
	}
}

// TestGrantedPermissionRequeuesAllParents: one parent gets the permission, and so does each parent that it requeues.
func TestGrantedPermissionRequeuesAllParents(t *testing.T) {
	const parents = 10_000
	for why, namespaces := range map[string]int{"in one namespace": 1, "in many namespaces": parents} {
		t.Run(why, func(t *testing.T) {
			w := NewWaiting()
			for i := range parents {
				w.Add(waitingKey(i), patchIn(fmt.Sprint(i%namespaces)))
			}
			reached, rounds := 1, 0
			for next := w.Done(waitingKey(7)); len(next) > 0; rounds++ {
				var woken []queue.Key
				for _, key := range next {
					woken = append(woken, w.Done(key)...)
				}
				reached += len(next)
				next = woken
			}
			if reached != parents || rounds > 14 || len(w.of)+len(w.groups) > 0 {
				t.Errorf("%d of %d parents are reached in %d rounds, and %d are left", reached, parents, rounds, len(w.of))
			}
		})
	}
}

// TestLimitedGrantRequeuesFewParents grants the permission in one of many namespaces: parents that still lack it
// requeue no others.
func TestLimitedGrantRequeuesFewParents(t *testing.T) {
	const parents, namespaces = 1000, 10
	w := NewWaiting()
	for i := range parents {
		w.Add(waitingKey(i), patchIn(fmt.Sprint(i%namespaces)))
	}
	granted, refused := 1, 0
	for next := w.Done(waitingKey(0)); len(next) > 0; next = next[1:] {
		var number int
		if _, err := fmt.Sscan(next[0].Parent.Name, &number); err != nil {
			t.Fatal(err)
		}
		if number%namespaces == 0 {
			granted++
			next = append(next, w.Done(next[0])...)
		} else {
			refused++
			w.Add(next[0], patchIn(fmt.Sprint(number%namespaces)))
		}
	}
	if granted != parents/namespaces || refused > 2*parents/namespaces {
		t.Errorf("%d parents have got it, and %d were refused again; want %d, and not many", granted, refused, parents/namespaces)
	}
	if left := len(w.of); left != parents-granted {
		t.Errorf("%d parents wait, want %d", left, parents-granted)
	}
}

func TestParentsRequeuedAfterGrant(t *testing.T) {
	a, b := waitingKey(1), waitingKey(2)
	other := queue.Key{Controller: "other", Parent: b.Parent}
	create := patchIn("ns")
	create.Verb = "create"
	for _, row := range []struct {
		why  string
		do   func(*Waiting)
		want []queue.Key
	}{
		{"who waits for the same", func(w *Waiting) { w.Add(b, patchIn("ns")) }, []queue.Key{b}},
		{"who waits for it in another namespace", func(w *Waiting) { w.Add(b, patchIn("there")) }, []queue.Key{b}},
		{"nobody who waits for another verb", func(w *Waiting) { w.Add(b, create) }, nil},
		{"nobody of another TemplateController", func(w *Waiting) { w.Add(other, patchIn("ns")) }, nil},
		{"nobody who has turned to another permission", func(w *Waiting) { w.Add(b, patchIn("ns")); w.Add(b, create) }, nil},
		{"nobody who is gone", func(w *Waiting) { w.Add(b, patchIn("ns")); w.Forget(b) }, nil},
		{"nobody who has got it", func(w *Waiting) { w.Add(b, patchIn("ns")); w.Done(b); w.Add(a, patchIn("ns")) }, nil},
		{"nobody whose TemplateController is deleted", func(w *Waiting) { w.Add(b, patchIn("ns")); w.ForgetController("apps"); w.Add(a, patchIn("ns")) }, nil},
	} {
		t.Run(row.why, func(t *testing.T) {
			w := NewWaiting()
			w.Add(a, patchIn("ns"))
			row.do(w)
			if got := w.Done(a); !slices.Equal(got, row.want) {
				t.Errorf("woken are %v, want %v", got, row.want)
			}
			if again := w.Done(a); len(again) > 0 {
				t.Errorf("woken are %v by a parent that does not wait", again)
			}
		})
	}
}

// TestGrantedPermissionRequeuesParentsLackingAnother: parents lack two permissions, and get the first.
func TestGrantedPermissionRequeuesParentsLackingAnother(t *testing.T) {
	const parents = 1000
	second := patchIn("ns")
	second.Verb = "delete"
	w := NewWaiting()
	for i := range parents {
		w.Add(waitingKey(i), patchIn("ns"))
	}
	reached := 0
	for next := []queue.Key{waitingKey(7)}; len(next) > 0; next = next[1:] {
		reached++
		_, woken := w.Add(next[0], second)
		next = append(next, woken...)
	}
	if reached != parents {
		t.Errorf("%d of %d parents are reached", reached, parents)
	}
	for i := range parents { // neither is granted: the denials alternate
		_, first := w.Add(waitingKey(i), patchIn("ns"))
		_, again := w.Add(waitingKey(i), second)
		if len(first)+len(again) > 0 {
			t.Fatalf("parent %d, which is refused in turns, wakes %v and %v", i, first, again)
		}
	}
}
