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

// fewerLines divides the number of lines that are asked for where they have more bytes than request.MostLogRead.
const fewerLines = 8

// Log reads the end of the log of a container of the Pod of that name. The text is valid UTF-8: of what the container has
// written, other bytes are replaced. A line longer than request.MostLogRead counts by its beginning.
//
// The server limits bytes from the first of the lines on, and the last ones are wanted. So more is asked for and the end of that
// is kept, and fewer lines where that does not reach the end.
func (c *Client) Log(ctx context.Context, namespace, pod, container string, o request.LogOptions) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, request.LogLimit)
	defer cancel()
	at := request.Location{Resource: corev1.SchemeGroupVersion.WithResource("pods"), Namespace: namespace, Name: pod}
	for lines := o.TailLines; ; lines = max(lines/fewerLines, 1) {
		text, err := c.readLog(ctx, at, container, lines, o.Previous)
		if err != nil {
			return "", err
		}
		if len(text) < request.MostLogRead || lines == 1 {
			return tail(text, int(min(o.LimitBytes, request.MostLogRead))), nil
		}
	}
}

func (c *Client) readLog(ctx context.Context, at request.Location, container string, lines int64, previous bool) ([]byte, error) {
	r := c.request(c.rest.Get(), at).SubResource("log").
		Param("container", container).
		Param("tailLines", strconv.FormatInt(lines, 10)).
		Param("limitBytes", strconv.Itoa(request.MostLogRead))
	if previous {
		r.Param("previous", strconv.FormatBool(true))
	}
	body, err := r.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(io.LimitReader(body, request.MostLogRead)) // the server may not keep to the limit
}

// tail returns the last bytes of a text, at most so many, and no part of a character.
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
