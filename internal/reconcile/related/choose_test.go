package related

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
)

// large returns the given number of mappings, each with that many values for a label. All select the Pods of app a.
func large(mappings, values int) []map[string]any {
	all := make([]map[string]any, mappings)
	for i := range all {
		of := make([]any, values)
		for j := range of {
			of[j] = fmt.Sprint(j)
		}
		expressions := []any{map[string]any{"key": "app", "operator": "In", "values": []any{"a"}}, map[string]any{"key": "x", "operator": "NotIn", "values": of}}
		all[i] = map[string]any{"allNamespaces": true, "labelSelector": map[string]any{"matchExpressions": expressions}}
	}
	return all
}

func TestSelectionSizeIsLimited(t *testing.T) {
	e := entryOf(t, false)
	_, issue := e.Choose(in("ns", "one"), large(256, 60), 1<<20)
	if issue == nil || issue.Reason != v1.ReasonTemplateError || !strings.HasPrefix(issue.Message, "related[pods].select: the output is ") ||
		!strings.HasSuffix(issue.Message, " bytes of JSON; the limit is 32768: select by namespace or by label") {
		t.Errorf("got %+v", issue)
	}
	if len(e.Index.parents) > 0 {
		t.Errorf("%d parents are filed", len(e.Index.parents))
	}
	few := large(10, 60)
	s := e.choose(t, in("ns", "one"), few...)
	if _, issue := e.Choose(in("ns", "two"), few, s.Size()); issue != nil {
		t.Errorf("there is just room enough: %s", issue.Message)
	}
	for what, name := range map[string]string{"a new parent": "three", "a parent that has become smaller": "one"} {
		want := fmt.Sprintf("related[pods].select: the selection needs %d bytes of memory, but only %d bytes are left of the limit for this parent (earlier spec.related entries count): select by namespace or by label", s.Size(), s.Size()-1)
		if _, issue := e.Choose(in("ns", name), few, s.Size()-1); issue == nil || issue.Reason != v1.ReasonTemplateError || issue.Message != want {
			t.Errorf("%s: got %+v, want %s", what, issue, want)
		}
	}
	bare := entryOf(t, true)
	if _, issue := bare.Choose(in("ns", "one"), nil, -1); issue != nil {
		t.Errorf("without a template: %s", issue.Message)
	}
}

// TestLargeSelectionIsStoredOnce reports the memory of a parent that selects as much as it may.
func TestLargeSelectionIsStoredOnce(t *testing.T) {
	const parents, most = 20, 48 << 10
	e := entryOf(t, false)
	yielded := large(72, 60)
	before := heap()
	for i := range parents {
		e.choose(t, in("ns", fmt.Sprint("one", i)), yielded...)
	}
	after := heap()
	runtime.KeepAlive(e)
	if each := (int(after) - int(before)) / parents; each > most || each < most/8 {
		t.Errorf("a parent takes %d bytes, want at most %d, and not much less", each, most)
	} else {
		t.Logf("a parent takes %d bytes", each)
	}
	if got := len(source(Scope{Namespace: "ns", Namespaced: true}, yielded)); got > maxText || got < maxText*9/10 {
		t.Errorf("the text has %d bytes, want just less than %d", got, maxText)
	}
}

// TestParentIsNotifiedOncePerEvent: one parent is filed under many terms that match one Pod.
func TestParentIsNotifiedOncePerEvent(t *testing.T) {
	e, woken := entryOf(t, false), 0
	e.choose(t, in("ns", "one"), append(large(100, 1), map[string]any{"name": "p"}, map[string]any{"namespace": "ns"})...)
	e.Changed(watch.Event{Old: pod(t, "ns", "p", "a", "Running", 1), New: pod(t, "ns", "p", "a", "Failed", 2)}, func(types.NamespacedName) { woken++ })
	if woken != 1 {
		t.Errorf("the parent is told %d times", woken)
	}
}
