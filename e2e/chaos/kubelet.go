package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/chaos/model"
	"github.com/templater-dev/templater/e2e/cluster/layout"
)

var (
	nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	pods  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// kubelet replaces the kubelet of the simulated node: it answers the API server's requests for logs.
type kubelet struct {
	server *http.Server
	port   int

	mu     sync.Mutex
	logs   map[string]string // by namespace/name
	broken int               // number of active faults
}

// startKubelet serves with the certificate, which the API server trusts.
func startKubelet(certificate tls.Certificate) (*kubelet, error) {
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: loopback[0]})
	if err != nil {
		return nil, err
	}
	k := &kubelet{logs: map[string]string{}}
	if address, ok := listener.Addr().(*net.TCPAddr); ok {
		k.port = address.Port
	}
	k.server = &http.Server{ //nolint:gosec // its only client is the API server
		Handler: k.handler(), ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	go func() { _ = k.server.ServeTLS(listener, "", "") }() // ends with close
	return k, nil
}

func (k *kubelet) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{name}/{container}", k.answer)
	return mux
}

func (k *kubelet) close() error { return k.server.Close() }

func (k *kubelet) answer(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	text, broken := k.logs[r.PathValue("namespace")+"/"+r.PathValue("name")], k.broken > 0
	k.mu.Unlock()
	if broken {
		http.Error(w, "this kubelet is broken", http.StatusInternalServerError)
		return
	}
	_, _ = io.Copy(w, strings.NewReader(text))
}

// set sets the log of a Pod.
func (k *kubelet) set(id model.ChildID, text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.logs[id.Namespace+"/"+id.Name] = text
}

// fail makes requests for logs fail until mend is called.
func (k *kubelet) fail() (mend func()) {
	change := func(by int) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.broken += by
	}
	change(1)
	return sync.OnceFunc(func() { change(-1) })
}

// node is the node of all Pods.
const node = "node1"

// moveKubelet directs the API server to our kubelet. The node also needs a Hostname address: after the API server was
// down, kwok recreates the node's status, and keeps the addresses only if both exist.
func (h *harness) moveKubelet(ctx context.Context) error {
	status := fmt.Sprintf(`{"status": {"addresses": [{"type": "InternalIP", "address": %[1]q}, {"type": "Hostname", "address": %[1]q}], "daemonEndpoints": {"kubeletEndpoint": {"Port": %[2]d}}}}`, loopback[0], h.kubelet.port)
	return h.insist(ctx, "have the API server ask for logs", func() error {
		_, err := h.client.Resource(nodes).Patch(ctx, node, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
		return err
	})
}

// setPod runs a Pod with that log, replacing an earlier one of that name.
func (h *harness) setPod(ctx context.Context, a model.Action) error {
	if err := h.deletePod(ctx, a.Child); err != nil {
		return err
	}
	h.kubelet.set(a.Child, a.Text)
	pod := model.Pod(a.Child, node)
	_ = unstructured.SetNestedField(pod, "yes", "metadata", "labels", layout.UnmanagedLabel) // the object has labels
	if err := h.apply(ctx, pods, pod); err != nil {
		return err
	}
	return h.runPod(ctx, a.Child)
}

// runPod sets a Pod's status to running.
func (h *harness) runPod(ctx context.Context, id model.ChildID) error {
	status, err := json.Marshal(map[string]any{"status": map[string]any{
		"phase": "Running", "podIP": "10.128.255.255",
		"conditions":        []any{map[string]any{"type": "Ready", "status": "True"}},
		"containerStatuses": []any{map[string]any{"name": "main", "image": "busybox", "imageID": "", "ready": true, "restartCount": 0, "state": map[string]any{"running": map[string]any{}}}},
	}})
	if err != nil {
		return err
	}
	return h.insist(ctx, "run pod "+id.String(), func() error {
		_, err := h.client.Resource(pods).Namespace(id.Namespace).Patch(ctx, id.Name, types.MergePatchType, status, metav1.PatchOptions{}, "status")
		return err
	})
}

func (h *harness) deletePod(ctx context.Context, id model.ChildID) error {
	return h.remove(ctx, h.client.Resource(pods).Namespace(id.Namespace), id.Name, metav1.DeletePropagationBackground)
}
