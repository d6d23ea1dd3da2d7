package kube

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestReadRequestsPathAsJSON(t *testing.T) {
	seen := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.URL.String() + " " + r.Header.Get("Accept") + " " + r.Header.Get("Impersonate-User")
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(server.Close)
	const path = "/openapi/v3/apis/apps/v1?hash=A1%3D"
	text, err := newClient(t, server).As("ann").Read(t.Context(), path, 2)
	if err != nil || string(text) != "{}" {
		t.Errorf("got %s, %v", text, err)
	}
	if want := path + " application/json ann"; seen != want {
		t.Errorf("asked for %s, want %s", seen, want)
	}
}

func TestReadRejectsTooLargeResponse(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "{} ")
	}))
	t.Cleanup(server.Close)
	if text, err := newClient(t, server).Read(t.Context(), "/openapi/v3", 2); !errors.Is(err, errTooLarge) || text != nil {
		t.Errorf("%d bytes, err %v, want that it is too large", len(text), err)
	}
}

func TestReadReturnsServerError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	if _, err := newClient(t, server).Read(t.Context(), "/openapi/v3", 2); !apierrors.IsForbidden(err) {
		t.Errorf("err = %v, want that it is forbidden", err)
	}
}
