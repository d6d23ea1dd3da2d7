package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
	testclock "k8s.io/utils/clock/testing"
)

// server is an API server that knows these tokens; all others are invalid.
type server struct {
	mu    sync.Mutex
	knows map[string]verdict
	err   error
	asked []string
}

func (s *server) ask(_ context.Context, token, verb, path string) (verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, token+" "+verb+" "+path)
	return s.knows[token], s.err
}

// get returns the status code and body of a guarded page for that Authorization header.
func get(ctx context.Context, g *Guard, authorization string) (int, string, http.Header) {
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	g.Protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "numbers") })).ServeHTTP(w, request)
	return w.Code, w.Body.String(), w.Header()
}

func TestMetricsRequestsAreAuthorized(t *testing.T) {
	for why, row := range map[string]struct {
		authorization string
		err           error
		code          int
		body          string
		asked         int
	}{
		"allowed":                                      {"Bearer reader", nil, 200, "numbers", 1},
		"scheme in lower case":                         {"bearer  reader", nil, 200, "numbers", 1},
		"forbidden: the body names the rule":           {"Bearer guest", nil, 403, "the user of the token needs a ClusterRole with the rule {nonResourceURLs: [/metrics], verbs: [get]}", 1},
		"unknown token":                                {"Bearer made-up", nil, 401, "send a token that the API server accepts", 1},
		"no token: no request to the API server":       {"", nil, 401, "Authorization: Bearer TOKEN", 0},
		"empty token":                                  {"Bearer ", nil, 401, "send a token", 0},
		"basic authentication":                         {"Basic cmVhZGVyOg==", nil, 401, "send a token", 0},
		"API server error":                             {"Bearer reader", errors.New("down"), 503, "see its log", 1},
		"API server error: the body does not quote it": {"Bearer reader", errors.New("down"), 503, "templater cannot check your permissions", 1},
	} {
		t.Run(why, func(t *testing.T) {
			s := &server{knows: map[string]verdict{"reader": allowed, "guest": forbidden}, err: row.err}
			code, body, header := get(t.Context(), newGuard(s, testclock.NewFakePassiveClock(time.Now())), row.authorization)
			if code != row.code || !strings.Contains(body, row.body) || strings.Contains(body, "down") {
				t.Errorf("got %d %q, want %d %q", code, body, row.code, row.body)
			}
			if len(s.asked) != row.asked || row.asked > 0 && !strings.HasSuffix(s.asked[0], " get /metrics") {
				t.Errorf("the API server was asked %q, want %d questions about get /metrics", s.asked, row.asked)
			}
			if got := header.Get("WWW-Authenticate"); (got == "Bearer") != (row.code == 401) {
				t.Errorf("WWW-Authenticate is %q", got)
			}
		})
	}
}

func TestReviewResultsAreCachedForLimitedTime(t *testing.T) {
	s := &server{knows: map[string]verdict{"reader": allowed, "guest": forbidden}}
	clock := testclock.NewFakePassiveClock(time.Now())
	begin := clock.Now()
	g := newGuard(s, clock)
	for _, row := range []struct {
		after time.Duration
		token string
		code  int
		asked int
	}{
		{0, "reader", 200, 1},
		{0, "guest", 403, 2},
		{0, "nobody", 401, 3},
		{9 * time.Second, "guest", 403, 3},
		{9 * time.Second, "nobody", 401, 3},
		{10 * time.Second, "guest", 403, 4},
		{10 * time.Second, "nobody", 401, 5},
		{59 * time.Second, "reader", 200, 5},
		{60 * time.Second, "reader", 200, 6},
	} {
		clock.SetTime(begin.Add(row.after))
		if code, _, _ := get(t.Context(), g, "Bearer "+row.token); code != row.code || len(s.asked) != row.asked {
			t.Errorf("after %s: %s gets %d and %d questions were asked, want %d and %d", row.after, row.token, code, len(s.asked), row.code, row.asked)
		}
	}
	s.knows = map[string]verdict{"guest": allowed}
	clock.SetTime(begin.Add(3 * time.Minute))
	for token, want := range map[string]int{"reader": 401, "guest": 200} {
		if code, _, _ := get(t.Context(), g, "Bearer "+token); code != want {
			t.Errorf("rights have changed: %s gets %d, want %d", token, code, want)
		}
	}
	clock.SetTime(begin.Add(3*time.Minute + 30*time.Second))
	if code, _, _ := get(t.Context(), g, "Bearer guest"); code != 200 {
		t.Errorf("an old refusal counts against a new allowance: %d", code)
	}
}

func TestReviewFailureIsLoggedOnceAndNotCached(t *testing.T) {
	var log strings.Builder
	ctx := klog.NewContext(t.Context(), funcr.New(func(_, args string) { fmt.Fprintln(&log, args) }, funcr.Options{}))
	s := &server{knows: map[string]verdict{"reader": allowed}, err: errors.New("no route")}
	g := newGuard(s, testclock.NewFakePassiveClock(time.Now()))
	for range 3 {
		if code, _, _ := get(ctx, g, "Bearer reader"); code != 503 {
			t.Errorf("got %d", code)
		}
	}
	if len(s.asked) != 3 || strings.Count(log.String(), "cannot check who is allowed to read the metrics") != 1 || !strings.Contains(log.String(), "no route") {
		t.Errorf("%d questions were asked, and the log is %q", len(s.asked), log.String())
	}
	s.err = nil
	if code, _, _ := get(ctx, g, "Bearer reader"); code != 200 {
		t.Errorf("once the API server answers: %d", code)
	}
	s.err = errors.New("no route")
	get(ctx, g, "Bearer other")
	if strings.Count(log.String(), "no route") != 2 {
		t.Errorf("a new failure is not logged: %q", log.String())
	}
	if strings.Contains(log.String(), "reader") || strings.Contains(log.String(), "other") {
		t.Errorf("the log has a token: %q", log.String())
	}
}

// slow responds when answer is closed or receives a value, or when ctx is done.
type slow struct {
	answer   chan struct{}
	asked    atomic.Int32
	inFlight atomic.Int32
	highest  atomic.Int32
}

func (s *slow) ask(ctx context.Context, _, _, _ string) (verdict, error) {
	s.asked.Add(1)
	s.highest.Store(max(s.highest.Load(), s.inFlight.Add(1)))
	defer s.inFlight.Add(-1)
	select {
	case <-s.answer:
		return allowed, nil
	case <-ctx.Done():
		return unknown, ctx.Err()
	}
}

func TestConcurrentIdenticalReviewsShareOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{answer: make(chan struct{})}
		g := newGuard(s, testclock.NewFakePassiveClock(time.Now()))
		first, leave := context.WithCancel(t.Context())
		codes := make(chan int, 10)
		for i := range 10 {
			ctx := t.Context()
			if i == 0 {
				ctx = first
			}
			go func() {
				code, _, _ := get(ctx, g, "Bearer reader")
				codes <- code
			}()
			synctest.Wait()
		}
		leave() // the others wait for the same result
		synctest.Wait()
		close(s.answer)
		for range 10 {
			if code := <-codes; code != 200 && code != 503 {
				t.Errorf("got %d", code)
			}
		}
		if s.asked.Load() != 1 {
			t.Errorf("the API server was asked %d times", s.asked.Load())
		}
		if code, _, _ := get(t.Context(), g, "Bearer reader"); code != 200 || s.asked.Load() != 1 {
			t.Errorf("afterwards: %d, asked %d times", code, s.asked.Load())
		}
	})
}

func TestWaitingRequestCanBeCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{answer: make(chan struct{})}
		g := newGuard(s, testclock.NewFakePassiveClock(time.Now()))
		done := make(chan int, 1)
		go func() {
			code, _, _ := get(t.Context(), g, "Bearer reader")
			done <- code
		}()
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		leave()
		if code, _, _ := get(ctx, g, "Bearer reader"); code != 503 {
			t.Errorf("who has left gets %d", code)
		}
		close(s.answer)
		if code := <-done; code != 200 {
			t.Errorf("who stays gets %d", code)
		}
	})
}

func TestReviewConcurrencyIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{answer: make(chan struct{})}
		g := newGuard(s, testclock.NewFakePassiveClock(time.Now()))
		codes := make(chan int, 20)
		for i := range 20 {
			go func() {
				code, _, _ := get(t.Context(), g, fmt.Sprint("Bearer made-up-", i))
				codes <- code
			}()
		}
		begin := time.Now()
		for range 20 {
			if code := <-codes; code != 503 {
				t.Errorf("got %d", code)
			}
		}
		if s.highest.Load() > maxReviews || time.Since(begin) > reviewTimeout {
			t.Errorf("%d questions at once, and an answer after %s; want at most %d and %s", s.highest.Load(), time.Since(begin), maxReviews, reviewTimeout)
		}
		if len(g.asking) != 0 || len(g.slots) != 0 {
			t.Errorf("%d inquiries and %d slots are left", len(g.asking), len(g.slots))
		}
	})
}

func TestUnknownTokensDoNotEvictAllowedToken(t *testing.T) {
	s := &server{knows: map[string]verdict{"reader": allowed}}
	g := newGuard(s, testclock.NewFakePassiveClock(time.Now()))
	get(t.Context(), g, "Bearer reader")
	for i := range 3 * cacheSize {
		get(t.Context(), g, fmt.Sprint("Bearer made-up-", i))
	}
	before := len(s.asked)
	if code, _, _ := get(t.Context(), g, "Bearer reader"); code != 200 || len(s.asked) != before {
		t.Errorf("got %d after %d more questions", code, len(s.asked)-before)
	}
	if g.denials.Len() > cacheSize {
		t.Errorf("%d refusals are remembered", g.denials.Len())
	}
}

// panics is an asker that panics.
type panics struct{}

func (panics) ask(context.Context, string, string, string) (verdict, error) { panic("a defect") }

func TestPanicReleasesReviewSlots(t *testing.T) {
	g := newGuard(panics{}, testclock.NewFakePassiveClock(time.Now()))
	for range 2 * maxReviews {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("there was no panic")
				}
			}()
			get(t.Context(), g, "Bearer reader")
		}()
	}
	if len(g.asking) != 0 || len(g.slots) != 0 {
		t.Errorf("%d inquiries and %d slots are left", len(g.asking), len(g.slots))
	}
}
