package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
)

// eventServer stores Events like the API server.
type eventServer struct {
	mu     sync.Mutex
	events map[string]map[string]any // by namespace and name
	answer func() int                // the status code of the next response; 0 = normal
	log    []string                  // of the EventWriter
	verbs  []string                  // of all requests
	users  []string                  // impersonated user of each request
}

// newEventWriter returns an EventWriter and its server.
func newEventWriter(t *testing.T) (*EventWriter, *eventServer) {
	t.Helper()
	s := &eventServer{events: map[string]map[string]any{}, answer: func() int { return 0 }}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s.announcer(t, server.URL), s
}

func (s *eventServer) announcer(t *testing.T, host string) *EventWriter {
	t.Helper()
	client, err := NewClient(&rest.Config{Host: host, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	logger := funcr.New(func(_, args string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.log = append(s.log, args)
	}, funcr.Options{Verbosity: 4})
	a := NewEventWriter(klog.NewContext(t.Context(), logger), client)
	a.delay = time.Millisecond
	t.Cleanup(a.Close)
	return a
}

func (s *eventServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		panic(err)
	}
	s.verbs = append(s.verbs, r.Method)
	s.users = append(s.users, r.Header.Get("Impersonate-User"))
	if code := s.answer(); code != 0 {
		refuse(w, code, "Invalid: "+fmt.Sprint(body["note"]))
		return
	}
	at := strings.TrimPrefix(r.URL.Path, "/apis/events.k8s.io/v1/namespaces/")
	if r.Method == http.MethodPost && !strings.HasSuffix(at, "/events") {
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
		return
	}
	if r.Method == http.MethodPost {
		metadata, _ := body["metadata"].(map[string]any)
		at = fmt.Sprint(metadata["namespace"], "/events/", metadata["name"])
	}
	switch there := s.events[at]; {
	case r.Method == http.MethodPost && there != nil:
		refuse(w, http.StatusConflict, "AlreadyExists")
		return
	case r.Method == http.MethodPost:
		s.events[at] = body
	case there == nil:
		refuse(w, http.StatusNotFound, "NotFound")
		return
	default:
		there["series"] = body["series"]
	}
	_, _ = io.WriteString(w, `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"a"}}`)
}

func refuse(w http.ResponseWriter, code int, text string) {
	reason, _, _ := strings.Cut(text, ":")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": text, "code": code})
}

// said returns "NAMESPACE REASON: NOTE xCOUNT" of all Events.
func (s *eventServer) said() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []string{}
	for at, e := range s.events {
		namespace, _, _ := strings.Cut(at, "/")
		count := any(1)
		if series, ok := e["series"].(map[string]any); ok {
			count = series["count"]
		}
		out = append(out, fmt.Sprintf("%s %v: %v x%v", namespace, e["reason"], e["note"], count))
	}
	slices.Sort(out)
	return out
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 20*time.Second, true,
		func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Fatalf("never: %s", what)
	}
}

// eventuallySaid waits until the Events match want.
func (s *eventServer) eventuallySaid(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the Events %q", want), func() bool { return slices.Equal(want, s.said()) })
}

func about(t *testing.T, text string) *object.Object {
	t.Helper()
	o, err := object.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const parent = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"ns","name":"a","uid":"u-1","resourceVersion":"7"}}`

func TestEventsAreAggregatedByMessage(t *testing.T) {
	a, s := newEventWriter(t)
	o := about(t, parent)
	a.Announce(request.Announcement{About: o, Type: "Warning", Reason: "TemplateFailed", Message: "one"})
	a.Announce(request.Announcement{About: o, Type: "Warning", Reason: "TemplateFailed", Message: "two"})
	s.eventuallySaid(t, "ns TemplateFailed: one x1", "ns TemplateFailed: two x1")
	newer := about(t, strings.Replace(parent, `"7"`, `"8"`, 1))
	a.Announce(request.Announcement{About: newer, Type: "Warning", Reason: "TemplateFailed", Message: "one"})
	a.Announce(request.Announcement{About: newer, Type: "Warning", Reason: "TemplateFailed", Message: "one"})
	s.eventuallySaid(t, "ns TemplateFailed: one x3", "ns TemplateFailed: two x1")
	if diff := cmp.Diff([]string{"POST", "POST", "PATCH", "PATCH"}, s.verbs); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	other := about(t, strings.Replace(parent, "u-1", "u-2", 1))
	a.Announce(request.Announcement{About: other, Type: "Warning", Reason: "TemplateFailed", Message: "two"})
	s.eventuallySaid(t, "ns TemplateFailed: one x3", "ns TemplateFailed: two x1", "ns TemplateFailed: two x1")
}

func TestEventsAreWrittenAsImpersonatedUser(t *testing.T) {
	a, s := newEventWriter(t)
	for _, user := range []string{"system:serviceaccount:team:robot", ""} {
		for range 2 {
			a.Announce(request.Announcement{As: user, About: about(t, parent), Type: "Warning", Reason: "R", Message: "by " + user})
		}
	}
	s.eventuallySaid(t, "ns R: by  x2", "ns R: by system:serviceaccount:team:robot x2")
	if diff := cmp.Diff([]string{"system:serviceaccount:team:robot", "system:serviceaccount:team:robot", "", ""}, s.users); diff != "" {
		t.Errorf("made as (-want +got):\n%s", diff)
	}
}

func TestEventCallbacksSeeRequestAndResult(t *testing.T) {
	a, s := newEventWriter(t)
	codes := map[string][]int{"forbidden": {403}, "later": {500, 0}, "never": {500, 500, 500, 500, 500}, "unwanted after a try": {500}}
	var left []int
	s.answer = func() int {
		code := left[0]
		left = left[1:]
		return code
	}
	for _, step := range []struct {
		text        string
		asked, code int // number of calls, and the code of the response; -1 = none
	}{{"fine", 1, 0}, {"forbidden", 1, 403}, {"later", 2, 0}, {"never", maxEventTries, 500}, {"unwanted", 1, -1}, {"unwanted after a try", 2, -1}} {
		left = codes[step.text]
		if left == nil {
			left = []int{0}
		}
		requests, asked, got, done := len(s.verbs), 0, []int{}, make(chan struct{})
		a.Announce(request.Announcement{
			About: about(t, parent), Type: "Warning", Reason: "R", Message: step.text,
			Wanted: func() bool {
				asked++
				if strings.HasPrefix(step.text, "unwanted") && asked == step.asked {
					close(done)
					return false
				}
				return true
			},
			Answered: func(err error) {
				got = append(got, int(request.Code(err)))
				close(done)
			},
		})
		<-done
		want := []int{step.code}
		if step.code < 0 {
			want, step.asked = []int{}, step.asked-1
			asked--
		}
		if sent := len(s.verbs) - requests; sent != step.asked || asked != step.asked || !slices.Equal(got, want) {
			t.Errorf("%s: %d requests, asked %d times, answers %v; want %d and %v", step.text, sent, asked, got, step.asked, want)
		}
	}
	left = []int{0}
	a.Announce(request.Announcement{About: about(t, parent), Type: "Warning", Reason: "R", Message: "nobody asks"})
	s.eventuallySaid(t, "ns R: fine x1", "ns R: later x1", "ns R: nobody asks x1")
}

func TestExpiredEventIsCreatedAgain(t *testing.T) {
	a, s := newEventWriter(t)
	o := about(t, parent)
	a.Announce(request.Announcement{About: o, Type: "Warning", Reason: "R", Message: "one"})
	s.eventuallySaid(t, "ns R: one x1")
	s.mu.Lock()
	clear(s.events)
	s.mu.Unlock()
	a.Announce(request.Announcement{About: o, Type: "Warning", Reason: "R", Message: "one"})
	s.eventuallySaid(t, "ns R: one x1")
}

func TestRestartContinuesExistingEvent(t *testing.T) {
	a, s := newEventWriter(t)
	o := about(t, parent)
	a.Announce(request.Announcement{About: o, Type: "Warning", Reason: "R", Message: "one"})
	s.eventuallySaid(t, "ns R: one x1")
	again := NewEventWriter(t.Context(), a.client)
	defer again.Close()
	again.Announce(request.Announcement{About: o, Type: "Warning", Reason: "R", Message: "one"})
	s.eventuallySaid(t, "ns R: one x2")
	again.Announce(request.Announcement{About: o, Type: "Warning", Reason: "R", Message: "one"})
	s.eventuallySaid(t, "ns R: one x3")
}

func TestEventIsCreatedInNamespaceOfObject(t *testing.T) {
	for why, row := range map[string]struct {
		object, at string
		regarding  map[string]any
	}{
		"in the namespace of the object": {
			parent, "ns/events/a.", map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "ns", "name": "a", "uid": "u-1"},
		},
		"in default, about no namespace": {
			`{"apiVersion":"x/v1","kind":"Fleet","metadata":{"name":"f","uid":"u"}}`, "default/events/f.",
			map[string]any{"apiVersion": "x/v1", "kind": "Fleet", "name": "f", "uid": "u"},
		},
		"in the Namespace that it is about": {
			`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team","uid":"u"}}`, "team/events/team.",
			map[string]any{"apiVersion": "v1", "kind": "Namespace", "name": "team", "namespace": "team", "uid": "u"},
		},
		"a Namespace that takes no more": {
			`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team","uid":"u","deletionTimestamp":"2026-01-01T00:00:00Z"}}`, "default/events/team.",
			map[string]any{"apiVersion": "v1", "kind": "Namespace", "name": "team", "uid": "u"},
		},
		"somebody else's kind Namespace": {
			`{"apiVersion":"x/v1","kind":"Namespace","metadata":{"name":"team","uid":"u"}}`, "default/events/team.",
			map[string]any{"apiVersion": "x/v1", "kind": "Namespace", "name": "team", "uid": "u"},
		},
		"a name that no Event can have": {
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"system:x","uid":"u"}}`, "default/events/templater.",
			map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "system:x", "uid": "u"},
		},
	} {
		t.Run(why, func(t *testing.T) {
			a, s := newEventWriter(t)
			a.Announce(request.Announcement{About: about(t, row.object), Type: "Normal", Reason: "R", Message: "text"})
			eventually(t, "an Event", func() bool { return len(s.said()) == 1 })
			for at, e := range s.events {
				if name, hash, _ := strings.Cut(at, row.at); name != "" || len(hash) != 16 {
					t.Errorf("the Event is at %s, want %s…", at, row.at)
				}
				if diff := cmp.Diff(row.regarding, e["regarding"]); diff != "" {
					t.Errorf("regarding (-want +got):\n%s", diff)
				}
				if e["reportingController"] != "templater" || e["action"] == "" || e["reportingInstance"] == "" || e["type"] != "Normal" {
					t.Errorf("the server takes no such Event: %v", e)
				}
				if _, err := time.Parse(time.RFC3339Nano, fmt.Sprint(e["eventTime"])); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestEventNotesAreTruncatedAtRuneBoundary(t *testing.T) {
	for text, want := range map[string]int{
		strings.Repeat("a", 1024):               1024,
		strings.Repeat("a", 1025):               1024,
		strings.Repeat("ж", 512):                1024,
		strings.Repeat("ж", 600):                1023, // 510 characters and the ellipsis
		strings.Repeat("語", 400):                1023,
		"a" + strings.Repeat("\U0001f600", 300): 1024,
	} {
		got := object.Cut(text, longestNote)
		if len(got) != want || !utf8.ValidString(got) || (len(text) > longestNote) != strings.HasSuffix(got, "…") || !strings.HasPrefix(text, strings.TrimSuffix(got, "…")) {
			t.Errorf("%d bytes of %.4s… became %d, want %d: %.12s … %s", len(text), text, len(got), want, got, got[max(0, len(got)-9):])
		}
	}
}

func TestEventMessagesAreNotLogged(t *testing.T) {
	const secret = "the password is 1234"
	for why, code := range map[string]int{"refused": 422, "not answered": 500} {
		t.Run(why, func(t *testing.T) {
			a, s := newEventWriter(t)
			tries := 0
			s.answer = func() int { tries++; return code }
			a.Announce(request.Announcement{About: about(t, parent), Type: "Warning", Reason: "TemplateFailed", Message: secret})
			eventually(t, "something is logged", func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return strings.Contains(strings.Join(s.log, "\n"), "cannot publish an Event")
			})
			s.mu.Lock()
			defer s.mu.Unlock()
			if log := strings.Join(s.log, "\n"); strings.Contains(log, "1234") || !strings.Contains(log, fmt.Sprint(`"code"=`, code)) {
				t.Errorf("log:\n%s", log)
			}
			if want := map[int]int{422: 1, 500: maxEventTries}[code]; tries != want {
				t.Errorf("%d tries, want %d", tries, want)
			}
		})
	}
}

func TestEventIsRetriedAfterServerError(t *testing.T) {
	a, s := newEventWriter(t)
	answers := []int{500, 503}
	s.answer = func() int {
		if len(answers) == 0 {
			return 0
		}
		next := answers[0]
		answers = answers[1:]
		return next
	}
	a.Announce(request.Announcement{About: about(t, parent), Type: "Warning", Reason: "R", Message: "one"})
	s.eventuallySaid(t, "ns R: one x1")
}

func TestAnnounceNeverBlocks(t *testing.T) {
	server := silentServer(t)
	a := (&eventServer{}).announcer(t, server.URL)
	o := about(t, parent)
	for i := range 2 * eventSenders * eventQueueLength {
		a.Announce(request.Announcement{As: fmt.Sprint(i), About: o, Type: "Warning", Reason: "R", Message: fmt.Sprint(i)})
	}
	a.Close()
}

func TestQueuedEventHoldsNoObject(t *testing.T) {
	a := &EventWriter{now: time.Now, rates: newEventRates(), seed: maphash.MakeSeed()}
	for i := range a.senders {
		a.senders[i] = make(chan event, 1)
	}
	a.Announce(request.Announcement{About: about(t, parent), Type: "Warning", Reason: "R", Message: "text"})
	waiting := 0
	for _, queue := range a.senders {
		for len(queue) > 0 {
			waiting++
			if e := <-queue; e.About != nil || e.Message != "" || e.note != "text" {
				t.Errorf("%+v waits", e)
			}
		}
	}
	if waiting != 1 {
		t.Errorf("%d Events wait, want 1", waiting)
	}
}

func TestOnlyTransientEventErrorsAreRetried(t *testing.T) {
	for code, want := range map[int32]bool{0: true, 400: false, 404: false, 422: false, 428: false, 429: true, 499: false, 500: true, 503: true} {
		err := error(&apierrors.StatusError{ErrStatus: metav1.Status{Code: code}})
		if code == 0 {
			err = io.ErrUnexpectedEOF // the connection was closed
		}
		if got := transient(err); got != want {
			t.Errorf("%d: got %v, want %v", code, got, want)
		}
	}
}
