package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

func TestKubeletServesLogsUnlessFailing(t *testing.T) {
	k := &kubelet{logs: map[string]string{}}
	k.set(model.PodID("chaos-a", 1), "a: b")
	ask := func(why, name string, code int, text string) {
		t.Helper()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/containerLogs/chaos-a/"+name+"/main?tailLines=5", nil)
		recorder := httptest.NewRecorder()
		k.handler().ServeHTTP(recorder, request)
		if recorder.Code != code || code == http.StatusOK && recorder.Body.String() != text {
			t.Errorf("%s: %d %q, want %d %q", why, recorder.Code, recorder.Body, code, text)
		}
	}
	ask("a Pod with a log", "pod-1", http.StatusOK, "a: b")
	ask("a Pod without a log", "pod-2", http.StatusOK, "")
	one, other := k.fail(), k.fail()
	one()
	one()
	ask("failing", "pod-1", http.StatusInternalServerError, "")
	other()
	ask("repaired", "pod-1", http.StatusOK, "a: b")
}
