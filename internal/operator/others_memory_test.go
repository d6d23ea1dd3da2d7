//go:build !race

package operator

import (
	"context"
	"iter"
	"net/http/httptest"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/operator/admission"
	"github.com/templater-dev/templater/internal/render/finding"
)

// TestReviewReadsOtherTemplateControllersOneAtATime: a small review is for the kind of 40 large TemplateControllers.
func TestReviewReadsOtherTemplateControllersOneAtATime(t *testing.T) {
	const limit = 16 << 20
	const review = `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "operation": "CREATE", "object": ` +
		`{"metadata": {"name": "b"}, "spec": {"watch": {"apiVersion": "example.org/v1", "kind": "App"}, "children": [{"name": "a", "template": "a"}]}}}}`
	large := v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "example.org/v1", Kind: "App"}}
	for i := range 5 {
		large.Children = append(large.Children, v1.Child{Name: strconv.Itoa(i), Template: strings.Repeat("x", 260_000)})
	}
	selecting := v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "example.org/v1", Kind: "App", LabelSelector: &metav1.LabelSelector{}}}
	for range 20_000 {
		selecting.Watch.LabelSelector.MatchExpressions = append(selecting.Watch.LabelSelector.MatchExpressions, metav1.LabelSelectorRequirement{Key: "a", Operator: metav1.LabelSelectorOpExists})
	}
	for why, spec := range map[string]v1.TemplateControllerSpec{"templates": large, "selectors": selecting} {
		t.Run(why, func(t *testing.T) {
			all := make([]*v1.TemplateController, 40)
			for i := range all {
				all[i] = accepted("a" + strconv.Itoa(i))
				all[i].Spec = spec
			}
			each := eachOf(t, all...)
			h := admission.New(&admission.Handler{
				Check:  func(_, _ context.Context, _ *v1.TemplateController) []finding.Finding { return nil },
				Others: func(kind schema.GroupKind) iter.Seq[*v1.TemplateController] { return conditionWriters(kind, each) },
			})
			most := heldAtMost(func() {
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "POST", admission.Path, strings.NewReader(review)))
			})
			t.Logf("at most %.1f MiB are held", float64(most)/(1<<20))
			if most > limit {
				t.Errorf("%d bytes are held, want at most %d", most, limit)
			}
		})
	}
}

// heldAtMost returns the maximum growth of the heap in bytes while do runs.
func heldAtMost(do func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	debug.FreeOSMemory()
	inUse := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before, most := inUse(), uint64(0)
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			most = max(most, inUse())
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	do()
	close(ended)
	watching.Wait()
	return most - min(before, most)
}
