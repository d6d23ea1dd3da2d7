package kube

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/templater-dev/templater/internal/kube/request"
)

// fewerLines divides the number of requested lines if they exceed request.MaxLogBytes bytes.
const fewerLines = 8

// Log returns the end of the log of a container as valid UTF-8: invalid bytes are replaced. Of a line longer than
// request.MaxLogBytes, it returns the end of the first request.MaxLogBytes bytes.
//
// The server applies limitBytes from the first of the requested lines, but callers need the last lines. So Log requests more than
// o.LimitBytes and returns the end. If the response is cut off, it retries with fewer lines.
func (c *Client) Log(ctx context.Context, namespace, pod, container string, o request.LogOptions) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, request.LogLimit)
	defer cancel()
	at := request.Location{Resource: corev1.SchemeGroupVersion.WithResource("pods"), Namespace: namespace, Name: pod}
	for lines := o.TailLines; ; lines = max(lines/fewerLines, 1) {
		text, err := c.readLog(ctx, at, container, lines, o.Previous)
		if err != nil {
			return "", err
		}
		if len(text) < request.MaxLogBytes || lines == 1 {
			return tail(text, int(min(o.LimitBytes, request.MaxLogBytes))), nil
		}
	}
}

func (c *Client) readLog(ctx context.Context, at request.Location, container string, lines int64, previous bool) ([]byte, error) {
	r := c.request(c.rest.Get(), at).SubResource("log").
		Param("container", container).
		Param("tailLines", strconv.FormatInt(lines, 10)).
		Param("limitBytes", strconv.Itoa(request.MaxLogBytes))
	if previous {
		r.Param("previous", strconv.FormatBool(true))
	}
	body, err := r.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(io.LimitReader(body, request.MaxLogBytes)) // the server may ignore limitBytes
}

// tail returns the last bytes of text as valid UTF-8, at most most bytes, on a rune boundary.
func tail(text []byte, most int) string {
	valid := text
	if !utf8.Valid(text) {
		valid = bytes.ToValidUTF8(text, []byte(string(utf8.RuneError)))
	}
	if len(valid) <= most {
		return string(valid)
	}
	valid = valid[len(valid)-most:]
	for len(valid) > 0 && !utf8.RuneStart(valid[0]) {
		valid = valid[1:]
	}
	return string(valid)
}
