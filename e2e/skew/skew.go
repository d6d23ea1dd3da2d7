// Package skew builds programs whose wall clock can be set while they run. It changes time.Now for the whole program,
// including libraries; measured durations, such as timers, are unaffected.
package skew

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Variable is the environment variable with the path of the offset file, which the program reads periodically: see Set.
const Variable = "TEMPLATER_E2E_CLOCK"

// Every is the interval of these reads.
const Every = 50 * time.Millisecond

// Set sets the clock of programs started with the file ahead by offset; a negative offset sets it back.
func Set(file string, offset time.Duration) error {
	next := file + ".next"
	if err := os.WriteFile(next, []byte(offset.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(next, file)
}

const (
	reads  = "\tsec, nsec, mono := runtimeNow()\n"
	offset = reads + "\tsec += e2eOffset.Load()\n"
	setter = `
// SetE2EOffset has Now be that far ahead.
func SetE2EOffset(d Duration) { e2eOffset.Store(int64(d / Second)) }

var e2eOffset atomic.Int64 // seconds
`
	follower = `package main

import (
	"os"
	"strings"
	"time"
)

func init() {
	file := os.Getenv("%s")
	if file == "" {
		return
	}
	read := func() {
		text, err := os.ReadFile(file)
		if offset, wrong := time.ParseDuration(strings.TrimSpace(string(text))); err == nil && wrong == nil {
			time.SetE2EOffset(offset)
		}
	}
	read()
	go func() {
		for {
			time.Sleep(%d)
			read()
		}
	}()
}
`
)

// Build builds a command of the repository at root, such as ./cmd/templater, into a file.
func Build(ctx context.Context, root, command, out string, flags ...string) error {
	dir, err := os.MkdirTemp("", "templater-skew-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	overlay, err := overlay(ctx, dir, filepath.Join(root, command))
	if err != nil {
		return err
	}
	args := append([]string{"build", "-overlay", overlay, "-o", out}, flags...)
	build := exec.CommandContext(ctx, "go", append(args, command)...)
	build.Dir = root
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", command, err, said)
	}
	return nil
}

// overlay writes the replacement for Go's source, and the files added to the command, to a folder.
func overlay(ctx context.Context, dir, command string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	text, err = patched(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", source, err)
	}
	files := map[string]string{
		source:                                string(text),
		filepath.Join(command, "skew_e2e.go"): fmt.Sprintf(follower, Variable, Every),
	}
	replace := map[string]string{}
	for name, content := range files {
		at := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			return "", err
		}
		replace[name] = at
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}

// patched is the source of time.Now with an offset.
func patched(source []byte) ([]byte, error) {
	imports := []byte("import (\n")
	if bytes.Count(source, []byte(reads)) == 0 || !bytes.Contains(source, imports) {
		return nil, errors.New("this version of Go reads the clock differently: adapt e2e/skew")
	}
	source = bytes.ReplaceAll(source, []byte(reads), []byte(offset))
	source = bytes.Replace(source, imports, []byte("import (\n\t\"sync/atomic\"\n"), 1)
	return append(source, setter...), nil
}
