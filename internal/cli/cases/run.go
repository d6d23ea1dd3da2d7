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
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Outcome is the result of a case.
type Outcome struct {
	Folder string
	Steps  []StepOutcome
	// Stale are expected files without a step.
	Stale []string
}

// StepOutcome is the result of a step.
type StepOutcome struct {
	Name string
	// Parent is the parent, such as App default/web; "" = the case is invalid.
	Parent string
	// Failure lists unexpected results, one per line; "" = success.
	Failure string
	Took    time.Duration
}

// Failed reports whether the case failed.
func (o Outcome) Failed() bool {
	return len(o.Stale) > 0 || slices.ContainsFunc(o.Steps, func(s StepOutcome) bool { return s.Failure != "" })
}

// Run runs the steps of a case, and compares the results with the expected files; with update, it writes them instead. The
// error says why the case is invalid.
func (c *Case) Run(update bool) (Outcome, error) {
	out := Outcome{Folder: c.Folder}
	if c.broken != nil {
		return out, c.broken
	}
	w, err := c.open()
	if err != nil {
		return out, err
	}
	of, _ := w.id(w.state.Parent) // already validated
	parent := of.String()
	var files []string
	for i, step := range c.Steps {
		start := time.Now()
		text, faults, failure, err := w.step(step)
		if err != nil {
			return out, c.failed(i, err)
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
		out.Steps = append(out.Steps, StepOutcome{step.Name, parent, failure, time.Since(start)})
	}
	out.Stale, err = c.stale(files, update)
	return out, err
}

// failed returns the error of a step with its place.
func (c *Case) failed(step int, err error) error {
	path := fmt.Sprintf("steps[%d]", step)
	if field, _, named := strings.Cut(err.Error(), ": "); named && slices.Contains([]string{"observe", "related", "remove"}, field) {
		path += "." + field
	}
	return manifest.ErrorIn(filepath.Join(c.Folder, File), c.text, path, fmt.Sprintf("step %q: %s", c.Steps[step].Name, problem.Line(err.Error())))
}

var errGone = errors.New("the parent was deleted in the previous step: remove this step")

// Play runs the steps of a case, and calls visit with the state after each. gone is whether the parent is deleted.
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
			return c.failed(i, err)
		}
		visit(i, w.state, w.gone)
	}
	return nil
}

// step runs a step. It returns the result including its errors, or a failure that is independent of the expected file.
func (f *fixture) step(s Step) (text []byte, faults []string, failure string, err error) {
	result, err := f.advance(s)
	if errors.Is(err, simulate.ErrNotConverging) {
		return nil, nil, "the reconciliation does not converge: " + err.Error() + "\n", nil
	}
	if err != nil {
		return nil, nil, "", err
	}
	text, err = show.Golden(show.Of(f.controller, f.state.Parent, result))
	return text, result.Errors, "", err
}

// advance applies the changes of a step, and reconciles until nothing changes.
func (f *fixture) advance(s Step) (simulate.Result, error) {
	if f.gone {
		return simulate.Result{}, errGone
	}
	before := f.state.Objects
	if err := f.apply(s); err != nil {
		return simulate.Result{}, err
	}
	result, next, err := f.simulator.SettleReady(f.state, func(entry string) bool { return s.AllReady || slices.Contains(s.Ready, entry) })
	if err != nil {
		return result, err
	}
	f.state, f.gone = next, result.Gone
	return result, f.checkObserved(s, before, result)
}

// record writes the result of a step. If a new or changed file contains errors, the step fails once, so that somebody reviews it.
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

// compare returns the difference to a file by line. Git on Windows may have changed line ends.
func compare(file string, now []byte) (string, error) {
	want, err := manifest.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return file + " does not exist: create it with --update, and review it\n", nil
	}
	if err != nil {
		return "", err
	}
	return show.Unified(file, "now", strings.ReplaceAll(string(want), "\r\n", "\n"), string(now)), nil
}

func write(file string, content []byte) error {
	for _, path := range []string{filepath.Dir(file), file} {
		if err := noLink(path); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644) //nolint:gosec // the file belongs to a repository
}

// noLink returns an error if a path is a symbolic link: --update would overwrite or remove files elsewhere.
func noLink(path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a symbolic link: replace it with a real file or directory, which --update can write", path)
	}
	return nil
}

// stale returns expected files without a step, or removes them.
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
	if err := noLink(folder); err != nil {
		return nil, err
	}
	for _, file := range left {
		if err := os.Remove(file); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
