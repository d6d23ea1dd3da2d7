package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// watchedLog is the operators' log; each part is read once. It is not safe for concurrent use.
type watchedLog struct {
	path  string
	never map[string]string // forbidden texts, and their meaning
	read  int64
	rest  []byte // end of what was read, where a text may have begun
	found error
}

// newLog checks a log for defects, and for the secret.
func newLog(path, secret string) *watchedLog {
	return &watchedLog{path: path, never: map[string]string{
		"panic in a reconciliation": "a reconciliation has panicked",
		"panic: ":                   "an operator has panicked",
		"fatal error: ":             "an operator has crashed",
		"WARNING: DATA RACE":        "the race detector has found something",
		secret:                      "it contains data of parents or children",
	}}
}

// check reads new content, and returns forbidden texts in it and those found before.
func (l *watchedLog) check() error {
	file, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(l.read, io.SeekStart); err != nil {
		return err
	}
	fresh, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	l.read += int64(len(fresh))
	text := append(l.rest, fresh...)
	for never, means := range l.never {
		if at := bytes.Index(text, []byte(never)); at >= 0 && l.found == nil {
			l.found = fmt.Errorf("%s, see the operator's log before byte %d", means, l.read-int64(len(text)-at-len(never)))
		}
	}
	l.rest = bytes.Clone(text[max(0, len(text)-64):])
	return l.found
}

var events = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// leaks searches Events and metrics for the secret. The checker checks conditions, and the log is checked all the time.
func (h *harness) leaks(ctx context.Context) error {
	list, err := h.client.Resource(events).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var errs []error
	for i := range list.Items {
		if holds(list.Items[i].Object, h.secret) {
			kind, _, _ := unstructured.NestedString(list.Items[i].Object, "involvedObject", "kind")
			reason, _, _ := unstructured.NestedString(list.Items[i].Object, "reason")
			errs = append(errs, fmt.Errorf("an Event about a %s, reason %s, contains data of parents or children", kind, reason))
		}
	}
	for _, address := range h.operators.metrics {
		errs = append(errs, h.metrics(ctx, address))
	}
	return errors.Join(errs...)
}

// metrics checks the metrics of one replica.
func (h *harness) metrics(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("get metrics: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return fmt.Errorf("get metrics: %w", err)
	case response.StatusCode != http.StatusOK || !bytes.Contains(text, []byte("templater_")):
		return fmt.Errorf("get metrics: response %s without metrics", response.Status)
	case bytes.Contains(text, []byte(h.secret)):
		return errors.New("metrics hold what is in parents and children")
	}
	return nil
}

// holds reports whether text occurs anywhere in data.
func holds(data any, text string) bool {
	written, err := json.Marshal(data)
	return err != nil || bytes.Contains(written, []byte(text))
}

// freeAddress is an address without a listener at the moment.
func freeAddress() (string, error) {
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: loopback[0]})
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
