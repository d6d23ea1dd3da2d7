package e2e

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// asks starts an HTTPS server for webhooks of this test, and returns its URL and its CA bundle.
func asks(t *testing.T, handler http.HandlerFunc) (url, bundle string) {
	t.Helper()
	if env.cluster == nil || env.cluster.Mode != layout.Kwok {
		leaveOut(t, "the API server reaches this machine where it runs on it: TEMPLATER_E2E_MODE=kwok")
	}
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return server.URL, base64.StdEncoding.EncodeToString(authority)
}

// gadgets is a kind with two versions and a conversion webhook.
const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: "gadgets.@group"}
spec:
  group: "@group"
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {url: "URL", caBundle: "BUNDLE"}
  versions:
  - {name: v2, served: true, storage: false, schema: &schema {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}
  - {name: v1, served: true, storage: true, schema: *schema}
`

// convert answers a ConversionReview according to the mode.
func convert(mode string, w http.ResponseWriter, r *http.Request) {
	var review struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Request    map[string]any `json:"request"`
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err != nil || mode == "dead" {
		http.Error(w, "no", http.StatusInternalServerError)
		return
	}
	response := map[string]any{"uid": review.Request["uid"], "result": map[string]any{"status": "Success"}}
	if mode == "fails" {
		response["result"] = map[string]any{"status": "Failure", "message": strings.Repeat("secret-of-the-webhook ", 5000)}
	} else {
		objects := review.Request["objects"].([]any)
		for _, o := range objects {
			object := o.(map[string]any)
			object["apiVersion"] = review.Request["desiredAPIVersion"]
			if mode == "strips" { // permitted changes: labels, annotations and everything outside of metadata
				metadata := object["metadata"].(map[string]any)
				delete(metadata, "labels")
				delete(metadata, "annotations")
				object["spec"] = map[string]any{"at": time.Now().String()}
			}
		}
		response["convertedObjects"] = objects
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": response})
}

// TestBrokenChildConversionKeepsChildren makes the conversion webhook of the children's kind fail, be unreachable, and
// strip labels, annotations and values, before and after a restart of templater, while the parent changes.
func TestBrokenChildConversionKeepsChildren(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	var mode atomic.Value
	mode.Store("works")
	url, bundle := asks(t, func(w http.ResponseWriter, r *http.Request) { convert(mode.Load().(string), w, r) })
	s.defineThing()
	s.apply(strings.NewReplacer("URL", url, "BUNDLE", bundle).Replace(gadgets))
	op := startOperator(t)
	n := newNeighbor(s)
	s.controller(`
watch: {apiVersion: "@group/v1", kind: Thing, namespaces: ["@ns"], labelSelector: {matchLabels: {side: gadgets}}}
children:
- name: kept
  template: |
    {apiVersion: "` + s.group + `/v2", kind: Gadget, metadata: {name: "{{ .metadata.name }}-kept"}, spec: {color: "{{ .spec.color | default "none" }}"}}
- name: dropped
  template: |
    {{ if not .spec.fewer }}{apiVersion: "` + s.group + `/v2", kind: Gadget, metadata: {name: "{{ .metadata.name }}-dropped"}, spec: {color: red}}{{ end }}
`)
	s.labeled("p", "gadgets")
	waitFor(t, s.things(), "p", ready)
	v1, uids := s.in(s.resource("gadgets")), map[string]types.UID{}
	for _, name := range []string{"p-kept", "p-dropped"} {
		uids[name] = waitFor(t, v1, name, nil).GetUID()
	}
	for i, next := range []string{"fails", "dead", "strips"} {
		for _, restart := range []bool{false, true} {
			what := fmt.Sprintf("the conversion %s, restart %v", next, restart)
			mode.Store(next)
			if restart {
				op.Stop()
				op = startOperator(t)
			}
			since := mark(t)
			s.patch(s.things(), "p", fmt.Sprintf(`{"spec":{"color":"c%d-%v"}}`, i, restart))
			waits := n.waits(5)
			pause(t.Context(), 5*time.Second)
			requests := op.requests(since)
			t.Logf("%s: a neighbor waits %v; requests meanwhile: %v", what, waits, tally(requests))
			for _, e := range requests {
				if strings.HasPrefix(e.Verb, "delete") {
					t.Errorf("%s: %s", what, e)
				}
			}
			p := waitFor(t, s.things(), "p", nil)
			if text := fmt.Sprint(p.Object["status"]) + string(op.logged()); strings.Contains(text, "secret-of-the-webhook") {
				t.Errorf("%s: the message of the webhook is reported", what)
			}
			mode.Store("works")
			for name := range uids { // the API server caches converted objects until they change
				s.patch(v1, name, fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d-%v"}}}`, i, restart))
			}
			for name, uid := range uids {
				if got := waitFor(t, v1, name, nil).GetUID(); got != uid {
					t.Errorf("%s: %s is another object", what, name)
				}
			}
			waitFor(t, s.things(), "p", ready)
		}
	}
	s.patch(s.things(), "p", `{"spec":{"fewer":true}}`)
	waitGone(t, v1, "p-dropped")
	if got := waitFor(t, v1, "p-kept", nil).GetUID(); got != uids["p-kept"] {
		t.Error("p-kept is another object in the end")
	}
}

// TestRetryAfterFromWebhookDoesNotDelayNeighbors makes a webhook reject all children of 34 parents and three
// TemplateControllers with a Retry-After of one minute, and with warnings and a message of maximum length.
func TestRetryAfterFromWebhookDoesNotDelayNeighbors(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	long := strings.Repeat("secret-of-the-webhook unknown field \"spec.x\" ", 1<<18/44)
	var asked atomic.Int64
	url, bundle := asks(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var review admissionv1.AdmissionReview
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &review)
		}
		if err != nil {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Warnings: []string{long[:100<<10], long[:100<<10]},
			Result: &metav1.Status{Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests, Message: long, Details: &metav1.StatusDetails{RetryAfterSeconds: 60}},
		}
		_ = json.NewEncoder(w).Encode(review)
	})
	op := startOperator(t)
	n := newNeighbor(s)
	quiet := n.waits(10)
	s.apply(strings.NewReplacer("@url", url, "@bundle", bundle).Replace(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: "@id"}
webhooks:
- name: later.example.org
  clientConfig: {url: "@url", caBundle: "@bundle"}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "@ns"}}
  objectSelector: {matchLabels: {side: greedy}}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: ["*"]}]
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
`))
	since := mark(t)
	s.greedy(3, 34, greedyChildren)
	stop := s.touch(34)
	began := time.Now()
	eventually(t, soon, func() error {
		if asked.Load() < 40 {
			return fmt.Errorf("the webhook was asked %d times", asked.Load())
		}
		return nil
	})
	beside := n.waits(20)
	pause(t.Context(), 10*time.Second)
	stop()
	t.Logf("a new parent waits for %v, and %v beside; the webhook was asked %d times in %s; requests: %v",
		quiet, beside, asked.Load(), time.Since(began), tally(op.requests(since)))
	if median := beside[len(beside)/2]; median > 5*time.Second {
		t.Errorf("a new parent waits for %v", median)
	}
	p := waitFor(t, s.things(), "greedy-0", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "ChildRejected") })
	if text := fmt.Sprint(p.Object["status"]) + string(op.logged()); strings.Contains(text, "secret-of-the-webhook") {
		t.Error("the message of the webhook is reported")
	}
}
