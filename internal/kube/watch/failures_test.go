package watch

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// log collects log lines at the default verbosity.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) into(ctx context.Context) context.Context {
	return klog.NewContext(ctx, funcr.New(func(_, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, args)
	}, funcr.Options{}))
}

// take returns the lines since its last call.
func (l *log) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

// refusing is a Client that returns the given errors for lists and watches.
type refusing struct {
	mu              sync.Mutex
	onList, onWatch error
	streams         bool // whether it supports watch-lists
	requests        int
}

func (r *refusing) List(ctx context.Context, _ schema.GroupVersionResource, _ string, _ metav1.ListOptions) (runtime.Object, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	if r.onList != nil {
		return nil, r.onList
	}
	return newClient().List(ctx, configMaps, "", metav1.ListOptions{})
}

func (r *refusing) Watch(context.Context, schema.GroupVersionResource, string, metav1.ListOptions) (apiwatch.Interface, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	return apiwatch.NewFake(), r.onWatch
}

func (*refusing) MayWatch(context.Context, schema.GroupVersionResource, string, string) (bool, error) {
	return true, nil
}

func (r *refusing) IsWatchListSemanticsUnSupported() bool { return !r.streams }

// answer sets the results of future requests, and returns the number of requests so far.
func (r *refusing) answer(list, watch error) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.requests
	r.onList, r.onWatch, r.requests = list, watch, 0
	return n
}

// TestFailingWatchIsLoggedOnce has many repeatedly failing watches, for each kind of request that a Reflector makes.
func TestFailingWatchIsLoggedOnce(t *testing.T) {
	refusal := apierrors.NewForbidden(configMaps.GroupResource(), "", nil)
	for why, row := range map[string]struct {
		list, watch error
		streams     bool
	}{
		"lists are refused":                     {list: refusal, watch: refusal},
		"watches are refused, lists are not":    {watch: refusal},
		"lists by watches are refused":          {list: refusal, watch: refusal, streams: true},
		"watches are refused, and list nothing": {watch: refusal, streams: true},
		"the server does not answer":            {list: errNow, watch: errNow},
		"the server has a fault":                {list: apierrors.NewInternalError(errNow), watch: apierrors.NewInternalError(errNow)},
		"the server does not have the kind":     {list: apierrors.NewNotFound(configMaps.GroupResource(), ""), watch: errNow},
	} {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const watches = linesBurst
				log, client := &log{}, &refusing{streams: row.streams, onList: row.list, onWatch: row.watch}
				ctx, cancel := context.WithCancel(log.into(t.Context()))
				m := NewManager(ctx, func(string) Client { return client }, &listener{})
				defer m.Wait()
				defer cancel()
				if _, err := m.Set("one", manyWants(watches)); err != nil {
					t.Fatal(err)
				}
				expect := func(when string, least, want int, list, watch error) {
					t.Helper()
					<-time.After(10 * time.Minute)
					synctest.Wait()
					if n := client.answer(list, watch); n < least {
						t.Errorf("%s: %d requests, want at least %d", when, n, least)
					}
					if lines := log.take(); len(lines) != want {
						t.Errorf("%s: %d lines, want %d, the first of them %s", when, len(lines), want, lines[:min(len(lines), 3)])
					}
				}
				expect("it begins", 50*watches, watches, apierrors.NewUnauthorized("who are you"), apierrors.NewUnauthorized("who are you"))
				expect("it fails in another way", 50*watches, watches, nil, nil)
				expect("it goes well", watches, 0, row.list, row.watch)
			})
		})
	}
}

// manyWants returns wants of one service account.
func manyWants(n int) (all []Want) {
	for i := range n {
		all = append(all, Want{Resource: configMaps, Namespace: fmt.Sprint("ns-", i), Role: Child, As: "system:serviceaccount:team:deployer"})
	}
	return all
}

// TestManyForbiddenWatchesDoNotFloodLog has a thousand forbidden watches, and forbidden watches of the operator itself.
func TestManyForbiddenWatchesDoNotFloodLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const watches = 1000
		refusal := apierrors.NewForbidden(configMaps.GroupResource(), "", nil)
		log, client := &log{}, &refusing{onList: refusal, onWatch: refusal}
		ctx, cancel := context.WithCancel(log.into(t.Context()))
		m := NewManager(ctx, func(string) Client { return client }, &listener{})
		defer m.Wait()
		defer cancel()
		if _, err := m.Set("one", manyWants(watches)); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if _, err := m.Set("own", []Want{{Resource: configMaps, Role: Controller}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		lines := log.take()
		if len(lines) > linesBurst+1 {
			t.Errorf("%d lines, want at most %d", len(lines), linesBurst+1)
		}
		if last := lines[len(lines)-1]; !strings.Contains(last, `"watch"="configmaps/v1"`) {
			t.Errorf("the last line is %s, want the failure of what the operator needs", last)
		}
		if _, err := m.Set("two", []Want{{Resource: configMaps, Namespace: "late", Role: Child, As: "system:serviceaccount:team:other"}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got, want := strings.Join(log.take(), ""), fmt.Sprintf(`"suppressed"=%d`, watches-linesBurst); !strings.Contains(got, want) {
			t.Errorf("the next line is %s, want %s", got, want)
		}
	})
}

// TestTenantCannotExhaustLogLimit has many watches of a tenant start, fail and stop before a watch of another tenant fails.
func TestTenantCannotExhaustLogLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := apierrors.NewForbidden(configMaps.GroupResource(), "", nil)
		log, client := &log{}, &refusing{onList: refusal, onWatch: refusal}
		ctx, cancel := context.WithCancel(log.into(t.Context()))
		m := NewManager(ctx, func(string) Client { return client }, &listener{})
		defer m.Wait()
		defer cancel()
		for range 3 {
			if _, err := m.Set("one", manyWants(1000)); err != nil {
				t.Fatal(err)
			}
			<-time.After(2 * time.Minute)
			if _, err := m.Set("one", nil); err != nil {
				t.Fatal(err)
			}
			if n := len(log.take()); n > linesBurst+2*60*linesPerSecond {
				t.Errorf("%d lines in two minutes", n)
			}
		}
		if _, err := m.Set("one", manyWants(1000)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		log.take()
		neighbor := Want{Resource: configMaps, Role: Child, As: "system:serviceaccount:neighbors:deployer"}
		if _, err := m.Set("two", []Want{neighbor}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := strings.Join(log.take(), ""); !strings.Contains(got, neighbor.String()) {
			t.Errorf("the failure of a neighbor is not logged: %q", got)
		}
	})
}
