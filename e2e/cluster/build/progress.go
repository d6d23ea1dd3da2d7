package build

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"
)

// progress reports a step: a line when it starts, one every few seconds while it runs, and one when it ends.
type progress struct {
	out      io.Writer
	prefix   string
	expected time.Duration
	quiet    bool
	started  time.Time
	done     chan struct{}
	finished sync.WaitGroup

	mu     sync.Mutex
	counts map[string]int
}

const tick = 10 * time.Second

func startProgress(out io.Writer, n, of int, s pendingStep) *progress {
	p := &progress{
		out:      out,
		prefix:   fmt.Sprintf("[%d/%d] %s", n, of, strings.TrimSuffix(s.name, "-node")),
		expected: expect(s.took),
		quiet:    s.reason == "",
		started:  time.Now(),
		done:     make(chan struct{}),
		counts:   map[string]int{},
	}
	if !p.quiet {
		p.say("%s (%s); about %s or less", s.why, s.reason, p.expected)
	}
	p.finished.Go(p.tick)
	return p
}

// expect scales a duration on two cores to the number of cores of this machine.
func expect(took time.Duration) time.Duration {
	return (took * 2 / time.Duration(runtime.NumCPU())).Round(time.Second)
}

func (p *progress) tick() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-ticker.C:
			p.say("%s of about %s%s", p.elapsed(), p.expected, p.details())
		}
	}
}

// stop ends the progress of a step, and reports its duration or its failure.
func (p *progress) stop(err error) {
	close(p.done)
	p.finished.Wait()
	switch {
	case err != nil:
		p.say("failed after %s", p.elapsed())
	case !p.quiet:
		p.say("done in %s%s", p.elapsed(), p.details())
	}
}

func (p *progress) count(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[what]++
}

func (p *progress) details() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out strings.Builder
	for _, what := range []string{"modules downloaded", "packages compiled"} {
		if n := p.counts[what]; n > 0 {
			fmt.Fprintf(&out, ", %d %s", n, what)
		}
	}
	return out.String()
}

func (p *progress) elapsed() time.Duration { return time.Since(p.started).Round(time.Second) }

func (p *progress) say(format string, args ...any) {
	fmt.Fprintf(p.out, "%s: %s\n", p.prefix, fmt.Sprintf(format, args...))
}
