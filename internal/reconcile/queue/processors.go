package queue

import "time"

// Processors limits CPU-bound work. Tenants get equal time, and switch when the running work pauses. Short work does
// not need a processor, and does not wait. It is safe for concurrent use.
type Processors struct {
	slots   *fairSlots
	tenants *Tenants
}

// NewProcessors returns the given number of processors, all of them free.
func NewProcessors(number int, tenants *Tenants) *Processors {
	return &Processors{slots: newFairSlots(number), tenants: tenants}
}

// turn is a worker's use of the processors. It is not safe for concurrent use.
type turn struct {
	processors *Processors
	stop       <-chan struct{} // closed when the work must stop: then it does not wait for a processor
	tenant     string
	long       bool      // the current work computes for long
	computes   bool      // it has a processor
	since      time.Time // when it got the processor
}

// begin marks the work as computing for long, on behalf of a controller.
func (t *turn) begin(controller string) {
	t.tenant, t.long = t.processors.tenants.Name(controller), true
}

// end releases the processor because the work is done.
func (t *turn) end() {
	t.put()
	t.long = false
}

// take blocks until the turn has a processor, if it needs one.
func (t *turn) take() {
	if !t.long || t.computes {
		return
	}
	t.await(t.processors.slots.take(t.tenant))
}

func (t *turn) await(given <-chan struct{}) {
	t.computes = true
	if given != nil {
		select {
		case <-given:
		case <-t.stop:
			t.computes = !t.processors.slots.withdraw(t.tenant, given)
		}
	}
	t.since = time.Now()
}

// put releases the processor, if the turn has one.
func (t *turn) put() {
	if t.computes {
		t.computes = false
		t.processors.slots.put(t.tenant, time.Since(t.since))
	}
}

// pause yields the processor if another tenant waits for it.
func (t *turn) pause() {
	if t.computes && t.processors.slots.wanted(t.tenant, time.Since(t.since)) {
		t.put()
		t.await(t.processors.slots.retake(t.tenant))
	}
}
