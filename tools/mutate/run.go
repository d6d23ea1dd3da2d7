package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// trial is a test: how long it takes, and which mutants it comes by.
type trial struct {
	suite
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
	var out []trial
	for _, tests := range s.suites {
		all, err := s.trialsOf(ctx, tests)
		if err != nil {
			return nil, err
		}
		out = append(out, all...)
	}
	out = slices.DeleteFunc(out, func(t trial) bool { return longest > 0 && t.took > longest })
	slices.SortFunc(out, func(a, b trial) int { return int(a.took - b.took) })
	return out, nil
}

func (s *subject) trialsOf(ctx context.Context, tests suite) ([]trial, error) {
	if out, err := tests.test(ctx, 0, ".", time.Hour); err != nil {
		return nil, fmt.Errorf("the tests of %s fail as they are: %w\n%s", tests.folder, err, tail(out))
	}
	list, err := tests.command(ctx, "-test.list", ".").Output()
	if err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w", tests.folder, err)
	}
	var out []trial
	for name := range strings.FieldsSeq(string(list)) {
		if !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") {
			continue
		}
		t, err := s.trial(ctx, tests, name)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// trial finds out which mutants a test comes by. It may fail: taking notes allocates.
func (s *subject) trial(ctx context.Context, tests suite, name string) (trial, error) {
	notes := tests.binary + "-" + name
	cmd := tests.command(ctx, "-test.run", exactly(name), "-test.short")
	cmd.Env = append(os.Environ(), reachedVariable+"="+notes)
	start := time.Now()
	_ = cmd.Run()
	t := trial{suite: tests, name: name, took: time.Since(start), reaches: map[int]bool{}}
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

// batch is what of a suite is run at once.
type batch struct {
	suite
	names []string
	limit time.Duration
}

// batches are the tests that come by a mutant, the quick ones of each suite first.
func (s *subject) batches(m mutant, trials []trial) []*batch {
	const quick = 500 * time.Millisecond
	var out []*batch
	for _, slow := range []bool{false, true} {
		for _, tests := range s.suites {
			b := &batch{suite: tests, limit: 20 * time.Second}
			for _, t := range trials {
				if t.suite == tests && t.reaches[m.id] && slow == (t.took > quick) {
					b.names, b.limit = append(b.names, t.name), b.limit+5*t.took
				}
			}
			if len(b.names) > 0 {
				out = append(out, b)
			}
		}
	}
	return out
}

// try lets a mutant show in the tests that come by it.
func (s *subject) try(ctx context.Context, m mutant, trials []trial) fate {
	batches := s.batches(m, trials)
	if len(batches) == 0 {
		return notReached
	}
	for _, b := range batches {
		out, err := b.test(ctx, m.id, exactly(b.names...), b.limit)
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
func (s suite) test(ctx context.Context, number int, tests string, limit time.Duration) ([]byte, error) {
	cmd := s.command(ctx, "-test.run", tests, "-test.short", "-test.failfast", "-test.timeout", limit.String())
	cmd.Env = append(os.Environ(), activeVariable+"="+strconv.Itoa(number))
	return cmd.CombinedOutput()
}

func (s suite) command(ctx context.Context, args ...string) *exec.Cmd {
	limited := fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, memoryLimit)
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", limited, s.binary}, args...)...)
	cmd.Dir = s.folder
	return cmd
}

func tail(out []byte) []byte {
	const most = 4000
	return out[max(0, len(out)-most):]
}
