// Package audit reads the audit log of a cluster's API server, so that tests can determine exactly which requests a
// client made.
package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"time"
)

// Log is an audit log: one JSON event per line.
type Log struct{ Path string }

// Mark is a position in a log; the zero Mark is its beginning.
type Mark int64

// Event holds the fields of an audit event that tests need.
type Event struct {
	AuditID    string `json:"auditID"`
	Stage      string `json:"stage"` // ResponseComplete, ResponseStarted (a watch begins), Panic
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	UserAgent  string `json:"userAgent"`
	User       struct {
		Username string   `json:"username"`
		Groups   []string `json:"groups"`
	} `json:"user"`
	ImpersonatedUser *struct {
		Username string   `json:"username"`
		Groups   []string `json:"groups"`
	} `json:"impersonatedUser"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		APIGroup    string `json:"apiGroup"`
		APIVersion  string `json:"apiVersion"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code    int `json:"code"`
		Details struct {
			Name string `json:"name"` // of the refused object
		} `json:"details"`
	} `json:"responseStatus"`
	// Received is when the request arrived; Reached is when it reached Stage.
	Received time.Time `json:"requestReceivedTimestamp"`
	Reached  time.Time `json:"stageTimestamp"`
}

// String describes the request: user, verb, object and status.
func (e Event) String() string {
	resource := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	return fmt.Sprintf("%s %s %s %s/%s %d", e.User.Username, e.Verb, resource, e.ObjectRef.Namespace, e.ObjectRef.Name, e.ResponseStatus.Code)
}

// Mark returns the current end of the log. Requests that are answered later follow it, and so does one whose line is
// still being written.
func (l Log) Mark() (Mark, error) {
	file, err := os.Open(l.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	for end := info.Size(); end > 0; {
		start := max(0, end-chunk)
		part := make([]byte, end-start)
		if _, err := file.ReadAt(part, start); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return Mark(start + int64(i) + 1), nil
		}
		end = start
	}
	return 0, nil
}

// chunk is the number of bytes that Mark reads at a time; few lines are longer.
const chunk = 1 << 14

// Since returns the events after the mark that keep accepts, one per request: long-running requests when they start,
// all others when they complete. A nil keep accepts all.
func (l Log) Since(mark Mark, keep func(Event) bool) ([]Event, error) {
	file, err := os.Open(l.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(int64(mark), io.SeekStart); err != nil {
		return nil, err
	}
	var events []Event
	seen := map[string]bool{}
	for reader := bufio.NewReader(file); ; {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // the rest is an incomplete line
			return events, nil
		}
		if err != nil {
			return nil, err
		}
		var event Event
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("read %s: %w", l.Path, err)
		}
		if !seen[event.AuditID] && !event.endsWatch() && (keep == nil || keep(event)) {
			events = append(events, event)
		}
		seen[event.AuditID] = true
	}
}

// endsWatch reports whether an accepted watch ended. Its start was reported before, maybe ahead of the mark: a watch of
// a stopped client may end at any later time.
func (e Event) endsWatch() bool {
	return e.Verb == "watch" && e.Stage == "ResponseComplete" && e.ResponseStatus.Code == http.StatusOK
}

// By accepts the requests of one user, with or without impersonation.
func By(user string) func(Event) bool {
	return func(e Event) bool { return e.User.Username == user }
}
