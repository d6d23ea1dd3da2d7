package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestWebhookDelaysResponses(t *testing.T) {
	h := &webhook{}
	ask := func() string {
		recorder := httptest.NewRecorder()
		h.answer(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(`{"request": {"uid": "u1"}}`)))
		return recorder.Body.String()
	}
	const allowed = `"uid": "u1", "allowed": true`
	if got := ask(); !strings.Contains(got, allowed) {
		t.Errorf("answer %s before it is held up", got)
	}
	release := h.hold()
	answered := make(chan string, 1)
	go func() { answered <- ask() }()
	for h.askedSince() == 0 {
		select {
		case got := <-answered:
			t.Fatalf("answer %s while it is held up", got)
		case <-t.Context().Done():
			t.Fatal("it was not asked")
		default:
		}
	}
	release()
	release() // has no effect
	if got := <-answered; !strings.Contains(got, allowed) {
		t.Errorf("answer %s after that", got)
	}
}
