//go:build whole

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// command runs a command in a folder and returns what it prints.
func command(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Dir, c.Env, c.Stderr = dir, append(os.Environ(), env...), &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// TestWholeReleaseIsTheSame makes a release of templater twice: from two clones, whose files are of different ages, and with a
// build cache of its own for each, because what a cache has would be the same anyhow.
func TestWholeReleaseIsTheSame(t *testing.T) {
	commit := command(t, ".", nil, "git", "rev-parse", "HEAD")
	platforms := os.Getenv("RELEASE_PLATFORMS")
	if platforms == "" {
		platforms = "linux/" + runtime.GOARCH
	}
	var releases [2]map[string][]byte
	for i, place := range []string{"a", "another/deep/place"} {
		clone := filepath.Join(t.TempDir(), place)
		command(t, ".", nil, "git", "clone", "--quiet", "../..", clone)
		age := time.Now().Add(-time.Duration(i) * 100 * time.Hour)
		err := filepath.WalkDir(clone, func(path string, entry os.DirEntry, err error) error {
			if entry != nil && entry.Name() == ".git" {
				return filepath.SkipDir
			}
			return errors.Join(err, os.Chtimes(path, age, age))
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("GOCACHE", t.TempDir())
		command(t, clone, nil, "make", "assets")
		command(t, clone, nil, "go", "run", "./tools/playground")
		begun := time.Now()
		releases[i] = makeRelease(t, append(arguments(clone, filepath.Join(clone, "dist")), "--platforms", platforms))
		t.Logf("%s: %d files in %s", place, len(releases[i]), time.Since(begun).Round(time.Second))
	}
	for name, body := range releases[0] {
		if !bytes.Equal(body, releases[1][name]) {
			t.Errorf("%s differs: %d bytes and %d bytes", name, len(body), len(releases[1][name]))
		}
	}
	checkSums(t, releases[0])
	dir := t.TempDir()
	archive := filepath.Join(dir, "templater.tar.gz")
	if err := os.WriteFile(archive, releases[0][linux], 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, dir, nil, "tar", "-xzf", archive)
	var told struct{ Version, Commit string }
	if err := json.Unmarshal([]byte(command(t, dir, nil, "./templater", "version", "-o", "json")), &told); err != nil {
		t.Fatal(err)
	}
	if told.Version != "v1.2.3" || told.Commit != commit {
		t.Errorf("templater version tells %+v, want v1.2.3 of %s", told, commit)
	}
	if help := command(t, dir, nil, "sh", "-c", "ln -s templater kubectl-templater && ./kubectl-templater version --help"); !strings.Contains(help, "kubectl templater version") {
		t.Errorf("as a plugin it calls itself otherwise: %s", help)
	}
}

// down stops a cluster, also when the test is over.
func down(dir, name string) (string, error) {
	c := exec.Command("go", "run", "./cluster", "down", "--name", name)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err
}
