package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// trial is a test of the package: how long it takes, and which mutants it comes by.
type trial struct {
	name    string
	took    time.Duration
	reaches map[int]bool
}

// fate is what becomes of a mutant.
type fate int

const (
	killed     fate = iota // a test fails
	timedOut               // the tests do not end, as of an endless loop
	survived               // no test notices
	notReached             // no test comes by
)

// memoryLimit is what a test binary may take, in KiB: some mutants take all there is.
const memoryLimit = 8 << 20

// trials runs each test once, with no mutant showing, and returns those that do not take too long. It is an error
// if one fails.
func (s *subject) trials(ctx context.Context, longest time.Duration) ([]trial, error) {
	if out, err := s.test(ctx, 0, ".", time.Hour); err != nil {
		return nil, fmt.Errorf("the tests of %s fail as they are: %w\n%s", s.folder, err, tail(out))
	}
	list, err := s.command(ctx, "-test.list", ".").Output()
	if err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w", s.folder, err)
	}
	var out []trial
	for name := range strings.FieldsSeq(string(list)) {
		if !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") {
			continue
		}
		t, err := s.trial(ctx, name)
		if err != nil {
			return nil, err
		}
		if longest == 0 || t.took <= longest {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b trial) int { return int(a.took - b.took) })
	return out, nil
}

// trial finds out which mutants a test comes by. It may fail: taking notes allocates.
func (s *subject) trial(ctx context.Context, name string) (trial, error) {
	notes := filepath.Join(s.work, "reached-"+name)
	cmd := s.command(ctx, "-test.run", exactly(name), "-test.short")
	cmd.Env = append(os.Environ(), reachedVariable+"="+notes)
	start := time.Now()
	_ = cmd.Run()
	t := trial{name: name, took: time.Since(start), reaches: map[int]bool{}}
	text, err := os.ReadFile(notes)
	if errors.Is(err, os.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	for line := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(line)
		if err != nil {
			return t, fmt.Errorf("read what %s comes by: %w", name, err)
		}
		t.reaches[n] = true
	}
	return t, nil
}

func exactly(names ...string) string {
	for i, name := range names {
		names[i] = regexp.QuoteMeta(name)
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// try lets a mutant show in the tests that come by it, the quick ones first.
func (s *subject) try(ctx context.Context, m mutant, trials []trial) fate {
	const quick = 500 * time.Millisecond
	var batches [2][]string
	var limits [2]time.Duration
	for _, t := range trials {
		if !t.reaches[m.id] {
			continue
		}
		i := 0
		if t.took > quick {
			i = 1
		}
		batches[i] = append(batches[i], t.name)
		limits[i] += t.took
	}
	if len(batches[0])+len(batches[1]) == 0 {
		return notReached
	}
	for i, names := range batches {
		if len(names) == 0 {
			continue
		}
		out, err := s.test(ctx, m.id, exactly(names...), 5*limits[i]+20*time.Second)
		switch {
		case err != nil && bytes.Contains(out, []byte("panic: test timed out")):
			return timedOut
		case err != nil:
			return killed
		}
	}
	return survived
}

// test runs tests while the mutant of that number shows.
func (s *subject) test(ctx context.Context, number int, tests string, limit time.Duration) ([]byte, error) {
	cmd := s.command(ctx, "-test.run", tests, "-test.short", "-test.failfast", "-test.timeout", limit.String())
	cmd.Env = append(os.Environ(), activeVariable+"="+strconv.Itoa(number))
	return cmd.CombinedOutput()
}

func (s *subject) command(ctx context.Context, args ...string) *exec.Cmd {
	limited := fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, memoryLimit)
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", limited, s.binary}, args...)...)
	cmd.Dir = s.folder
	return cmd
}

func tail(out []byte) []byte {
	const most = 4000
	return out[max(0, len(out)-most):]
}
