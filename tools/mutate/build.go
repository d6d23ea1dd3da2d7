package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// subject is a package whose code is changed.
type subject struct {
	folder  string // relative to the module
	work    string // for files of ours
	suites  []suite
	mutants []mutant
}

// suite is the tests of one package, with all mutants in the code of the subject.
type suite struct{ folder, binary string }

// build compiles tests once, with all mutants in the code of a package: its own tests, and those of the packages among others that use it.
func build(ctx context.Context, folder string, others []string, work string) (*subject, error) {
	s := &subject{folder: folder, work: work}
	overlay, err := s.overlay()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return nil, err
	}
	list := filepath.Join(work, "overlay.json")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		return nil, err
	}
	folders := []string{folder}
	for _, other := range others {
		uses, err := s.usedBy(ctx, other)
		if err != nil {
			return nil, err
		}
		if uses {
			folders = append(folders, other)
		}
	}
	for i, tests := range folders {
		one := suite{tests, filepath.Join(work, fmt.Sprint("tests-", i))}
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", list, "-o", one.binary, "./"+tests)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the tests of %s with the mutants of %s: %w\n%s", tests, folder, err, out)
		}
		if _, err := os.Stat(one.binary); err == nil { // there is none without tests
			s.suites = append(s.suites, one)
		}
	}
	return s, nil
}

// usedBy reports whether another package uses the subject.
func (s *subject) usedBy(ctx context.Context, folder string) (bool, error) {
	if folder == s.folder {
		return false, nil
	}
	own, err := exec.CommandContext(ctx, "go", "list", "./"+s.folder).Output()
	if err != nil {
		return false, fmt.Errorf("find package %s: %w", s.folder, err)
	}
	all, err := exec.CommandContext(ctx, "go", "list", "-test", "-deps", "./"+folder).Output()
	if err != nil {
		return false, fmt.Errorf("find what %s uses: %w", folder, err)
	}
	return slices.Contains(strings.Split(string(all), "\n"), strings.TrimSpace(string(own))), nil
}

// overlay writes the files with the mutants, and returns what stands for what.
func (s *subject) overlay() (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(s.folder, "*.go"))
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		changed, mutants, err := rewrite(filepath.ToSlash(file), text, len(s.mutants)+1)
		if err != nil {
			return nil, err
		}
		s.mutants = append(s.mutants, mutants...)
		if err := s.replace(out, file, changed); err != nil {
			return nil, err
		}
	}
	if len(s.mutants) == 0 {
		return nil, fmt.Errorf("%s has no code to change", s.folder)
	}
	return out, s.replace(out, filepath.Join(s.folder, "mutant_is.go"), s.runtime())
}

func (s *subject) replace(overlay map[string]string, file string, text []byte) error {
	original, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	overlay[original] = filepath.Join(s.work, filepath.Base(file))
	return os.WriteFile(overlay[original], text, 0o600)
}

// The environment of a test binary.
const (
	activeVariable  = "MUTANT"         // the number of the mutant that is to show
	reachedVariable = "MUTANT_REACHED" // the file for the numbers of those that the tests come by
)

// runtime is the file that tells the code which mutant shows.
func (s *subject) runtime() []byte {
	return fmt.Appendf(nil, `package %s

import (
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutantActive, _ = strconv.Atoi(os.Getenv(%q))
	mutantFile      = os.Getenv(%q)
	mutantSeen      [%d]atomic.Bool
)

func mutantIs(n int) bool {
	if mutantFile != "" && !mutantSeen[n].Swap(true) {
		mutantNote(n)
	}
	return n == mutantActive
}

func mutantNote(n int) {
	f, err := os.OpenFile(mutantFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strconv.Itoa(n) + "\n"); err != nil {
		panic(err)
	}
}
`, filepath.Base(s.folder), activeVariable, reachedVariable, len(s.mutants)+1)
}
