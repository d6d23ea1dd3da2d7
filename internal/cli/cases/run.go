package cases

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/cli/simulate/show"
	"github.com/templater-dev/templater/internal/lint/manifest"
)

// Outcome is what became of a case.
type Outcome struct {
	Folder string
	Steps  []StepOutcome
	// Stale are files of no step.
	Stale []string
}

// StepOutcome is what became of a step.
type StepOutcome struct {
	Name string
	// Failure says on lines what is not as expected; "" if all is.
	Failure string
	Took    time.Duration
}

// Failed reports whether anything is not as expected.
func (o Outcome) Failed() bool {
	return len(o.Stale) > 0 || slices.ContainsFunc(o.Steps, func(s StepOutcome) bool { return s.Failure != "" })
}

// Run goes through the steps of a case, and compares what they come to with what is expected; with update, it writes that instead. The
// error says why the case makes no sense.
func (c *Case) Run(update bool) (Outcome, error) {
	out := Outcome{Folder: c.Folder}
	if c.broken != nil {
		return out, c.broken
	}
	w, err := c.open()
	if err != nil {
		return out, err
	}
	var files []string
	for i, step := range c.Steps {
		start := time.Now()
		text, faults, failure, err := w.step(step)
		if err != nil {
			return out, fmt.Errorf("%s: step %q: %w", filepath.Join(c.Folder, File), step.Name, err)
		}
		file := c.expected(i)
		files = append(files, file)
		switch {
		case failure != "":
		case update:
			failure, err = record(file, text, faults)
		default:
			failure, err = compare(file, text)
		}
		if err != nil {
			return out, err
		}
		out.Steps = append(out.Steps, StepOutcome{step.Name, failure, time.Since(start)})
	}
	out.Stale, err = c.stale(files, update)
	return out, err
}

var errGone = errors.New("the parent was deleted in the previous step: nothing more can happen")

// Play goes through the steps of a case, and calls visit with the state after each. gone reports whether the parent was deleted by then.
func (c *Case) Play(visit func(step int, after simulate.State, gone bool)) error {
	if c.broken != nil {
		return c.broken
	}
	w, err := c.open()
	if err != nil {
		return err
	}
	for i, step := range c.Steps {
		if _, err := w.advance(step); err != nil {
			return fmt.Errorf("%s: step %q: %w", filepath.Join(c.Folder, File), step.Name, err)
		}
		visit(i, w.state, w.gone)
	}
	return nil
}

// step lets a step happen. It returns what that comes to with the errors in it, or, in lines, what is wrong in any case.
func (w *world) step(s Step) (text []byte, faults []string, failure string, err error) {
	result, err := w.advance(s)
	if errors.Is(err, simulate.ErrRestless) {
		return nil, nil, "the reconciliation does not settle: " + err.Error() + "\n", nil
	}
	if err != nil {
		return nil, nil, "", err
	}
	text, err = show.Golden(show.Of(w.controller, w.state.Parent, result))
	return text, result.Faults, "", err
}

// advance lets a step happen, and reconciles until nothing is left to do.
func (w *world) advance(s Step) (simulate.Result, error) {
	if w.gone {
		return simulate.Result{}, errGone
	}
	before := w.state.Objects
	if err := w.happen(s); err != nil {
		return simulate.Result{}, err
	}
	result, next, err := w.simulator.SettleReady(w.state, func(entry string) bool { return s.AllReady || slices.Contains(s.Ready, entry) })
	if err != nil {
		return result, err
	}
	w.state, w.gone = next, result.Gone
	return result, w.checkObserved(s, before, result)
}

// record writes what a step has come to. A file that is new or changes, and holds errors, is a failure, once: somebody has to read it.
func record(file string, now []byte, faults []string) (failure string, err error) {
	if len(faults) > 0 {
		if failure, err = compare(file, now); err != nil {
			return "", err
		}
	}
	if failure != "" {
		failure = file + " was written, and contains errors: correct the templates, or run again if they are expected\n"
		for _, fault := range faults {
			failure += fault + "\n"
		}
	}
	return failure, write(file, now)
}

// compare returns the difference to a file, as lines. Git on Windows may have given these other ends.
func compare(file string, now []byte) (string, error) {
	want, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return file + " does not exist: create it with --update, and review it\n", nil
	}
	if err != nil {
		return "", err
	}
	return show.Unified(file, "now", strings.ReplaceAll(string(want), "\r\n", "\n"), string(now)), nil
}

func write(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644) //nolint:gosec // it goes into a repository
}

// stale returns the expected files of no step, or removes them.
func (c *Case) stale(files []string, remove bool) ([]string, error) {
	folder := filepath.Join(c.Folder, manifest.ExpectedFolder)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var left []string
	for _, entry := range entries {
		file := filepath.Join(folder, entry.Name())
		if filepath.Ext(file) == ".yaml" && !slices.Contains(files, file) {
			left = append(left, file)
		}
	}
	if !remove {
		return left, nil
	}
	for _, file := range left {
		if err := os.Remove(file); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
