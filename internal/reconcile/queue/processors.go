package queue

// Processors are for work that computes for longer than a moment. Tenants share them, and take turns in the pauses of that work. Short
// work needs none, and does not wait. It is safe for concurrent use.
type Processors struct {
	places  *places
	tenants *Tenants
}

// NewProcessors returns that many processors, all of them free.
func NewProcessors(number int, tenants *Tenants) *Processors {
	return &Processors{places: newPlaces(number), tenants: tenants}
}

// turn is what one worker has of the processors. It is used by one goroutine.
type turn struct {
	processors *Processors
	tenant     string
	long       bool // whether the work that is under way computes for long
	computes   bool // whether it has a processor now
}

// begin says that the work for a controller computes for long.
func (t *turn) begin(controller string) {
	t.tenant, t.long = t.processors.tenants.Name(controller), true
}

// end gives the processor back, because the work is done.
func (t *turn) end() {
	t.put()
	t.long = false
}

// take returns when the turn has a processor, if it needs one.
func (t *turn) take() {
	if !t.long || t.computes {
		return
	}
	t.await(t.processors.places.take(t.tenant))
}

func (t *turn) await(given <-chan struct{}) {
	if given != nil {
		<-given
	}
	t.computes = true
}

// put gives the processor back, if there is one.
func (t *turn) put() {
	if t.computes {
		t.computes = false
		t.processors.places.put(t.tenant)
	}
}

// pause gives way to another tenant that waits.
func (t *turn) pause() {
	if t.computes && t.processors.places.wanted(t.tenant) {
		t.put()
		t.await(t.processors.places.retake(t.tenant))
	}
}
