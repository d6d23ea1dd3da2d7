package main

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

var webhooks = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}

// webhook is an admission webhook that does not answer while it is held. The API server waits for webhookTimeout, and
// then rejects the write.
type webhook struct {
	server *http.Server
	url    string
	ca     []byte

	mu    sync.Mutex
	gate  chan struct{} // nil, or closed when responses may be sent
	asked int
}

const webhookTimeout = 30 * time.Second

// startWebhook serves with the certificate, which is trusted by clients that trust the authority.
func startWebhook(certificate tls.Certificate, authority []byte) (*webhook, error) {
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: loopback[0]})
	if err != nil {
		return nil, err
	}
	h := &webhook{url: "https://" + listener.Addr().String() + "/", ca: authority}
	h.server = &http.Server{ //nolint:gosec // its only client is the API server
		Handler: http.HandlerFunc(h.answer), ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	go func() { _ = h.server.ServeTLS(listener, "", "") }() // ends with close
	return h, nil
}

func (h *webhook) close() error { return h.server.Close() }

// answer allows everything, possibly late.
func (h *webhook) answer(w http.ResponseWriter, r *http.Request) {
	var review struct {
		Request struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	h.asked++
	gate := h.gate
	h.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": %q, "allowed": true}}`, review.Request.UID)
}

// hold delays all responses until release is called.
func (h *webhook) hold() (release func()) {
	gate := make(chan struct{})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate, h.asked = gate, 0
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.gate = nil
		close(gate)
	})
}

func (h *webhook) askedSince() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked
}

// slowName is the name of the webhook configuration.
const slowName = "chaos.example.org"

// slow configures the webhook for all children of a TemplateController, and delays its responses until end is called.
func (h *harness) slow(ctx context.Context, shape string) (end func() error, err error) {
	err = h.apply(ctx, webhooks, map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": slowName},
		"webhooks": []any{map[string]any{
			"name": "slow." + slowName, "sideEffects": "None", "admissionReviewVersions": []any{"v1"},
			"failurePolicy": "Fail", "timeoutSeconds": int64(webhookTimeout / time.Second),
			"clientConfig":   map[string]any{"url": h.webhook.url, "caBundle": base64.StdEncoding.EncodeToString(h.webhook.ca)},
			"objectSelector": map[string]any{"matchLabels": map[string]any{"templater.dev/controller": shape}},
			"rules": []any{map[string]any{
				"apiGroups": []any{"", model.Group}, "apiVersions": []any{"*"}, "operations": []any{"CREATE", "UPDATE"},
				"resources": []any{"configmaps", "secrets", "parts"},
			}},
		}},
	})
	if err != nil {
		return nil, err
	}
	release := h.webhook.hold()
	return func() error {
		release()
		return h.remove(context.WithoutCancel(ctx), h.client.Resource(webhooks), slowName, metav1.DeletePropagationBackground)
	}, nil
}

// settleBeside waits until the cluster matches the model except for the slow TemplateController, whose children cannot
// be created. Then it ends the delay.
func (h *harness) settleBeside(ctx context.Context, e expected, broken time.Duration) error {
	if h.endSlow == nil {
		return nil
	}
	e.beside = e.round.Slow
	err := h.becomeRight(ctx, &e, broken)
	if err != nil {
		err = fmt.Errorf("while a webhook with %d requests blocks writes of TemplateController %s: %w", h.webhook.askedSince(), e.beside, err)
	}
	err = errors.Join(err, h.endSlow())
	h.endSlow = nil
	return err
}
