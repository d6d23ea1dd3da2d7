package leader

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// errResponseLost is the error of a request that the server has processed.
var errResponseLost = errors.New("context canceled")

// server stores one Lease.
type server struct {
	mu      sync.Mutex
	record  *resourcelock.LeaderElectionRecord
	version int
	writes  int
	refuses error // the error that new replicas receive
}

// holder returns the holder of the Lease and the number of writes.
func (s *server) holder() (string, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.record == nil {
		return "nobody", s.writes
	}
	return s.record.HolderIdentity, s.writes
}

// replica is an election with its own connection to the server.
type replica struct {
	*Election
	server *server
	id     string
	seen   int // version

	mu     sync.Mutex
	err    error         // the error of all requests
	freeze time.Duration // duration of the next request, regardless of its context

	leads  chan time.Time
	result chan error
	stop   context.CancelFunc
}

// start starts a replica.
func (s *server) start(ctx context.Context, id string) *replica {
	ctx, stop := context.WithCancel(ctx)
	r := &replica{server: s, id: id, leads: make(chan time.Time, 1), result: make(chan error, 1), stop: stop, err: s.refuses}
	r.Election = newElection(r, "templater")
	go func() { r.result <- r.Run(ctx, func() { r.leads <- time.Now() }) }()
	return r
}

// end stops the replica, and fails the test if Run returns an error.
func (r *replica) end(t *testing.T) {
	t.Helper()
	r.stop()
	if err := <-r.result; err != nil {
		t.Error(err)
	}
}

func (r *replica) set(err error, freeze time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err, r.freeze = err, freeze
}

func (r *replica) request(f func() error) error {
	r.mu.Lock()
	err, freeze := r.err, r.freeze
	r.freeze = 0
	r.mu.Unlock()
	if freeze > 0 {
		<-time.After(freeze)
	}
	if err != nil && !errors.Is(err, errResponseLost) {
		return err
	}
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	if result := f(); result != nil {
		return result
	}
	return err
}

func (r *replica) Get(context.Context) (record *resourcelock.LeaderElectionRecord, raw []byte, err error) {
	err = r.request(func() error {
		if r.server.record == nil {
			return apierrors.NewNotFound(leases, "templater")
		}
		held := *r.server.record
		record, r.seen = &held, r.server.version
		raw, err = json.Marshal(held)
		return err
	})
	return record, raw, err
}

func (r *replica) Create(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	return r.request(func() error {
		if r.server.record != nil {
			return apierrors.NewAlreadyExists(leases, "templater")
		}
		return r.store(record)
	})
}

func (r *replica) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	return r.request(func() error {
		switch {
		case r.server.record == nil:
			return apierrors.NewNotFound(leases, "templater")
		case r.server.version != r.seen:
			return apierrors.NewConflict(leases, "templater", errors.New("another version"))
		}
		return r.store(record)
	})
}

func (r *replica) store(record resourcelock.LeaderElectionRecord) error {
	r.server.version++
	r.server.writes++
	r.server.record, r.seen = &record, r.server.version
	return nil
}

func (r *replica) RecordEvent(string) {}
func (r *replica) Identity() string   { return r.id }
func (r *replica) Describe() string   { return "ns/templater" }

// compete runs a test with a server and a fake clock.
func compete(t *testing.T, f func(t *testing.T, s *server)) {
	t.Helper()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	synctest.Test(t, func(t *testing.T) { f(t, &server{}) })
}

func TestReleasedLeaseIsAcquiredImmediately(t *testing.T) {
	compete(t, func(t *testing.T, s *server) {
		a := s.start(t.Context(), "a")
		<-a.leads
		b := s.start(t.Context(), "b")
		<-time.After(time.Minute)
		if !a.fence.Open() || b.fence.Open() || len(b.leads) > 0 {
			t.Error("while a leads, b may write")
		}
		if _, n := s.holder(); n > 31 {
			t.Errorf("%d renewals in a minute, want one in %s", n, renewPeriod)
		}
		start := time.Now()
		a.stop()
		if err := <-a.result; err != nil {
			t.Error(err)
		}
		if a.fence.Open() {
			t.Error("a has released the lease and may write")
		}
		if took := (<-b.leads).Sub(start); took > 1200*time.Millisecond {
			t.Errorf("b leads after %s", took)
		}
		if !b.fence.Open() {
			t.Error("b leads and may not write")
		}
		b.end(t)
		if holder, _ := s.holder(); holder != "" {
			t.Errorf("holder %q", holder)
		}
	})
}

func TestDisconnectedLeaderStopsBeforeSuccessorStarts(t *testing.T) {
	compete(t, func(t *testing.T, s *server) {
		a := s.start(t.Context(), "a")
		<-a.leads
		b := s.start(t.Context(), "b")
		<-time.After(10 * time.Second)
		start := time.Now()
		a.set(errors.New("connection refused"), 0)
		err := <-a.result
		if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "ns/templater: renewal failed for 10s, last error: connection refused; exiting, ") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took > fenceLimit {
			t.Errorf("noticed after %s, when the fence was closed already", took)
		}
		if a.fence.Open() || len(b.leads) > 0 {
			t.Error("a has lost the lease and may write, or b began before")
		}
		if took := (<-b.leads).Sub(start); took > leaseDuration+3*time.Second {
			t.Errorf("b leads after %s", took)
		}
		b.end(t)
	})
}

func TestPausedLeaderIsFencedAndStops(t *testing.T) {
	compete(t, func(t *testing.T, s *server) {
		a := s.start(t.Context(), "a")
		<-a.leads
		b := s.start(t.Context(), "b")
		<-time.After(10 * time.Second)
		a.set(nil, time.Minute)
		<-b.leads
		if a.fence.Open() {
			t.Error("b leads and a may write")
		}
		start := time.Now()
		err := <-a.result
		if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "another replica holds it") {
			t.Errorf("got %v", err)
		}
		if awake := time.Since(start); awake > time.Minute {
			t.Errorf("a noticed %s later", awake)
		}
		if holder, _ := s.holder(); a.fence.Open() || !b.fence.Open() || holder != "b" {
			t.Errorf("a may write: %v, b may write: %v, holder %s", a.fence.Open(), b.fence.Open(), holder)
		}
		b.end(t)
	})
}

// A suspended machine sends no renewal in time, even if no other replica has acquired the lease.
func TestLostLeaseErrorReportsCause(t *testing.T) {
	e := newElection(&resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "ns", Name: "templater"}}, "templater")
	for want, l := range map[string]*lock{
		"it was not renewed for 10s, because this process or its machine was paused": {held: true},
		"another replica holds it": {held: true, gone: true},
		"renewal failed for 10s,":  {held: true, err: errors.New("refused")},
	} {
		if err := e.lost(l); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), ": "+want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestPausedLeaderContinuesWithoutCompetitor(t *testing.T) {
	compete(t, func(t *testing.T, s *server) {
		a := s.start(t.Context(), "a")
		<-a.leads
		a.set(nil, 9*time.Second) // during a request
		<-time.After(30 * time.Second)
		if !a.fence.Open() || len(a.result) > 0 {
			t.Error("a leader that has renewed its lease again may not write")
		}
		a.set(errors.New("503"), 0)
		<-time.After(8 * time.Second)
		a.set(nil, 0)
		<-time.After(8 * time.Second)
		if !a.fence.Open() || len(a.result) > 0 {
			t.Error("a leader gave up although the server was back in time")
		}
		s.mu.Lock()
		s.record = nil // the Lease is deleted
		s.mu.Unlock()
		<-time.After(5 * time.Second)
		if holder, _ := s.holder(); holder != "a" {
			t.Errorf("the Lease is not made anew: %s", holder)
		}
		a.end(t)
	})
}

func TestUnreleasedLeaseExpires(t *testing.T) {
	compete(t, func(t *testing.T, s *server) {
		a := s.start(t.Context(), "a")
		<-a.leads
		a.set(errors.New("connection refused"), 0)
		a.stop()
		if err := <-a.result; err != nil {
			t.Errorf("all work is done, but there is an error: %v", err)
		}
		if a.fence.Open() {
			t.Error("a has ended and may write")
		}
		start := time.Now()
		b := s.start(t.Context(), "b")
		if took := (<-b.leads).Sub(start); took < leaseDuration {
			t.Errorf("b leads after %s already", took)
		}
		b.end(t)
	})
}

func TestReleaseRetriesAfterConflict(t *testing.T) {
	compete(t, func(t *testing.T, s *server) {
		a := s.start(t.Context(), "a")
		<-a.leads
		s.mu.Lock()
		s.version++ // as if another client had changed the Lease
		s.mu.Unlock()
		a.end(t)
		if holder, _ := s.holder(); holder != "" {
			t.Errorf("holder %q", holder)
		}
	})
}

func TestStopDuringAcquisitionReleasesLease(t *testing.T) {
	compete(t, func(t *testing.T, s *server) {
		s.refuses = errResponseLost
		a := s.start(t.Context(), "a")
		<-time.After(100 * time.Millisecond) // after the first try, before the next one
		a.set(nil, 0)
		a.end(t)
		if holder, writes := s.holder(); holder != "" || writes != 2 {
			t.Errorf("holder %q after %d writes", holder, writes)
		}
	})
}

func TestWaitingCandidateDoesNotReleaseLease(t *testing.T) {
	compete(t, func(t *testing.T, s *server) {
		a := s.start(t.Context(), "a")
		<-a.leads
		b := s.start(t.Context(), "b")
		<-time.After(time.Second)
		_, before := s.holder()
		b.end(t)
		if holder, after := s.holder(); after != before || holder != "a" {
			t.Errorf("%d writes, holder %s", after-before, holder)
		}
		a.end(t)
	})
}

func TestCandidateRetriesUntilLeaseIsWritable(t *testing.T) {
	for why, err := range map[string]error{
		"no right":     apierrors.NewForbidden(leases, "templater", errors.New("no")),
		"no namespace": apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns"),
	} {
		compete(t, func(t *testing.T, s *server) {
			a := &replica{server: s, id: "a", leads: make(chan time.Time, 1), result: make(chan error, 1), err: err}
			ctx, stop := context.WithCancel(t.Context())
			a.Election = newElection(a, "templater")
			go func() { a.result <- a.Run(ctx, func() { a.leads <- time.Now() }) }()
			<-time.After(time.Minute)
			if a.fence.Open() || len(a.result) > 0 {
				t.Errorf("%s: may write: %v, ended: %v", why, a.fence.Open(), len(a.result) > 0)
			}
			a.set(nil, 0)
			<-a.leads
			stop()
			if err := <-a.result; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNewRejectsInvalidConfig(t *testing.T) {
	if _, err := New(&rest.Config{Host: "://"}, Lease{Namespace: "ns", Name: "templater", Identity: "a"}); err == nil {
		t.Error("no error")
	}
	election, err := New(&rest.Config{Host: "https://127.0.0.1:1"}, Lease{Namespace: "ns", Name: "templater"})
	if err != nil {
		t.Fatal(err)
	}
	if err := election.Run(t.Context(), func() {}); err == nil || !strings.Contains(err.Error(), "acquire the Lease ns/templater: ") {
		t.Errorf("without an identity: %v", err)
	}
}
