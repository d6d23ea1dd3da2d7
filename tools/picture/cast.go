package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// cast is a recording in the format asciicast, version 2: a header, and what was printed when.
type cast struct {
	header header
	events []event
}

type header struct {
	Version int    `json:"version"`
	Width   int    `json:"width"`  // in characters
	Height  int    `json:"height"` // in lines
	Title   string `json:"title"`
}

// event is text that was printed, some seconds after the beginning.
type event struct {
	at   float64
	text string
}

// width and height are those of the terminal in the picture.
const width, height = 112, 30

// tape records what is written to it, and passes it on. Concurrent use is safe.
type tape struct {
	mu     sync.Mutex
	out    io.Writer
	folder string // shown as ~/templater, since it is nobody's business
	now    func() time.Time
	begun  time.Time
	events []event
}

func newTape(out io.Writer, folder string, now func() time.Time) *tape {
	return &tape{out: out, folder: folder, now: now, begun: now()}
}

// Write implements io.Writer.
func (t *tape) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.ReplaceAll(string(p), t.folder, "~/templater")
	t.events = append(t.events, event{at: t.now().Sub(t.begun).Round(time.Millisecond).Seconds(), text: text})
	return t.out.Write(p)
}

// cast is what was recorded of a command.
func (t *tape) cast(args []string) *cast {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &cast{header: header{Version: 2, Width: width, Height: height, Title: strings.Join(args, " ")}, events: t.events}
}

// write writes a recording, with a line for each event.
func (c *cast) write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(c.header); err != nil {
		return err
	}
	for _, e := range c.events {
		if err := encoder.Encode([]any{e.at, "o", strings.ReplaceAll(e.text, "\n", "\r\n")}); err != nil {
			return err
		}
	}
	return nil
}

// parse reads a recording.
func parse(text []byte) (*cast, error) {
	c := &cast{}
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		if i == 0 {
			if err := json.Unmarshal(line, &c.header); err != nil || c.header.Version != 2 {
				return nil, fmt.Errorf("line 1 is no header of an asciicast of version 2: %s", line)
			}
			continue
		}
		var e event
		var kind string
		if err := json.Unmarshal(line, &[]any{&e.at, &kind, &e.text}); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if kind == "o" {
			c.events = append(c.events, e)
		}
	}
	return c, nil
}

// line is one line that was printed, and when it was whole.
type line struct {
	at   float64
	text string
}

// lines are the lines of a recording. The last one needs no end.
func (c *cast) lines() []line {
	var lines []line
	rest := ""
	for _, e := range c.events {
		pieces := strings.Split(strings.ReplaceAll(e.text, "\r", ""), "\n")
		for _, piece := range pieces[:len(pieces)-1] {
			lines = append(lines, line{at: e.at, text: rest + piece})
			rest = ""
		}
		rest += pieces[len(pieces)-1]
	}
	if rest != "" {
		lines = append(lines, line{at: c.events[len(c.events)-1].at, text: rest})
	}
	return lines
}

// part is the part of a recording that is drawn.
type part struct{ from, until string }

// of are the lines of the part. A text that is not there is an error.
func (p part) of(lines []line) ([]line, error) {
	find := func(text string, otherwise int) (int, error) {
		if text == "" {
			return otherwise, nil
		}
		for i, l := range lines {
			if strings.Contains(l.text, text) {
				return i, nil
			}
		}
		return 0, fmt.Errorf("no line holds %q", text)
	}
	from, err := find(p.from, 0)
	if err != nil {
		return nil, err
	}
	until, err := find(p.until, len(lines))
	if err != nil {
		return nil, err
	}
	if until < from {
		return nil, fmt.Errorf("%q comes before %q", p.until, p.from)
	}
	for until > from && strings.TrimSpace(lines[until-1].text) == "" {
		until--
	}
	return lines[from:until], nil
}
