// Package build builds all programs and images of a cluster from the modules in mods/ and a few Debian packages. It is
// incremental: each step leaves a stamp of its inputs.
package build

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// Options control a build.
type Options struct {
	Mode  layout.Mode // Node or Kwok; Auto must be resolved first
	Force bool        // run all steps, even if up to date
	Out   io.Writer   // progress; nil means none
}

// Build builds everything that a cluster in the given mode lacks. Builds in one cache run one at a time.
func Build(ctx context.Context, cache layout.Cache, options Options) error {
	if options.Out == nil {
		options.Out = io.Discard
	}
	unlock, err := layout.Lock(cache.Path("build.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	pending, err := outdated(cache, options)
	if err != nil || len(pending) == 0 {
		return err
	}
	if err := checkPrerequisites(ctx, options.Mode); err != nil {
		return err
	}
	return runAll(ctx, cache, options.Out, pending)
}

// Expected returns how many steps a build would run now, and about how long they would take on this machine with an
// empty build cache and all modules downloaded.
func Expected(cache layout.Cache, mode layout.Mode) (steps int, took time.Duration, err error) {
	pending, err := outdated(cache, Options{Mode: mode})
	for _, s := range pending {
		if s.reason != "" { // otherwise the step is up to date
			steps++
			took += expect(s.took)
		}
	}
	return steps, took, err
}

// pendingStep is a step that must run, the reason, and its new stamp.
type pendingStep struct {
	step
	reason, stamp string
}

func outdated(cache layout.Cache, options Options) ([]pendingStep, error) {
	var pending []pendingStep
	for _, s := range steps(options.Mode) {
		stamp, err := s.fingerprint(cache)
		if err != nil {
			return nil, err
		}
		reason := s.reason(cache, stamp)
		if options.Force && reason == "" {
			reason = "forced"
		}
		if reason != "" || s.always {
			pending = append(pending, pendingStep{s, reason, stamp})
		}
	}
	return pending, nil
}

func runAll(ctx context.Context, cache layout.Cache, out io.Writer, pending []pendingStep) error {
	started := time.Now()
	for n, s := range pending {
		progress := startProgress(out, n+1, len(pending), s)
		err := s.run(ctx, cache, progress)
		progress.stop(err)
		if err != nil {
			return fmt.Errorf("build %s: %w", s.name, err)
		}
		if err := writeStamp(cache, s); err != nil {
			return err
		}
	}
	if len(pending) > 1 {
		fmt.Fprintf(out, "built %d steps in %s\n", len(pending), time.Since(started).Round(time.Second))
	}
	return nil
}
