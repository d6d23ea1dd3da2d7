package revisions

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// slow is a cluster whose first list is answered after answer is closed. It has no objects.
type slow struct {
	controller.Client
	asked, answer chan struct{}
}

func (c *slow) EachMetadata(ctx context.Context, _ schema.GroupVersionResource, _ string, _ func(*object.Object)) error {
	o, _ := request.ObserverOf(ctx)
	o.Asked()
	if c.asked != nil {
		close(c.asked)
		c.asked = nil
		<-c.answer
	}
	o.Answered(0)
	return nil
}

// A worker that waits for the list of another one leaves it the only processor.
func TestLatestLeavesProcessorToLister(t *testing.T) {
	tracker := queue.NewWorkerTracker(clock.RealClock{}, queue.NewProcessors(1, queue.NewTenants()), nil)
	asked, answer := make(chan struct{}), make(chan struct{})
	s := &Store{Cluster: &slow{asked: asked, answer: answer}}
	ended := make(chan error)
	latest := func(name string) {
		ctx, end := tracker.Begin(t.Context(), queue.Key{Controller: name})
		defer end()
		if name == "second" {
			close(answer)
		}
		_, err := s.Latest(ctx, types.UID(name))
		ended <- err
	}
	go latest("first")
	<-asked
	go latest("second") // has the processor
	for range 2 {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("the workers wait for each other")
		}
	}
}
