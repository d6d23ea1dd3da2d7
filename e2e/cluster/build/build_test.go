package build

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// A step runs until it succeeds, and again when what it depends on changes.
func TestStepRerunsOnChangedInputs(t *testing.T) {
	cache := layout.Cache{Source: t.TempDir(), Dir: t.TempDir()}
	input := cache.Module("it/go.mod")
	put(t, input, "module it")
	s := step{name: "it", version: "1", inputs: []string{"it/go.*"}, outputs: []string{"out"}}

	check(t, cache, s, "out is missing", errors.New("failed"))
	check(t, cache, s, "it was never finished", nil)
	check(t, cache, s, "", nil)
	put(t, input, "module it // newer")
	check(t, cache, s, "its inputs changed", nil)
	s.version = "2"
	check(t, cache, s, "its inputs changed", nil)
	check(t, cache, s, "", nil)
}

// The demo compiles CoreDNS, then templater. Shared dependencies such as client-go are compiled once if versions and
// flags match.
func TestCoreDNSSharesModuleVersions(t *testing.T) {
	coredns, templater := modules(t, "../mods/coredns/go.mod"), modules(t, "../../../go.mod")
	shared := 0
	for path, version := range templater {
		if coredns[path] == "" {
			continue
		}
		shared++
		if coredns[path] != version {
			t.Errorf("CoreDNS has %s %s, and templater %s: go get %[1]s@%[3]s in e2e/cluster/mods/coredns, or in the root", path, coredns[path], version)
		}
	}
	if shared < 20 {
		t.Errorf("they have only %d modules in common", shared)
	}
}

// modules returns the versions of the modules that a go.mod requires.
func modules(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\s*(?:require )?(\S+/\S+) (v\S+)`).FindAllStringSubmatch(string(text), -1) {
		versions[m[1]] = m[2]
	}
	return versions
}

// check expects the step to have the given reason to run, and runs it with the result.
func check(t *testing.T, cache layout.Cache, s step, reason string, result error) {
	t.Helper()
	stamp, err := s.fingerprint(cache)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.reason(cache, stamp); got != reason {
		t.Fatalf("reason: got %q, want %q", got, reason)
	}
	s.run = func(context.Context, layout.Cache, *progress) error {
		put(t, cache.Path("out"), "new")
		return result
	}
	var out bytes.Buffer
	err = runAll(t.Context(), cache, &out, []pendingStep{{s, reason, stamp}})
	if !errors.Is(err, result) {
		t.Fatalf("run: got %v, want %v", err, result)
	}
	if reason != "" && !strings.Contains(out.String(), reason) {
		t.Errorf("progress does not say why: %s", out.String())
	}
}

func put(t *testing.T, path, body string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestResolve(t *testing.T) {
	if _, err := Resolve("vm"); err == nil {
		t.Error("an unknown mode is accepted")
	}
	mode, err := Resolve(layout.Auto)
	if err != nil || mode == layout.Auto {
		t.Errorf("auto: got %s, %v", mode, err)
	}
}

// The expected duration is shown before the first build only.
func TestExpectedBuildTime(t *testing.T) {
	cache := layout.Cache{Source: t.TempDir(), Dir: t.TempDir()}
	for _, mode := range []layout.Mode{layout.Kwok, layout.Node} {
		n, took, err := Expected(cache, mode)
		if want := len(steps(mode)); err != nil || n != want || took <= 0 {
			t.Errorf("%s: got %d steps of %s and error %v, want all %d", mode, n, took, err, want)
		}
	}
	for _, s := range steps(layout.Kwok) {
		for _, output := range s.outputs {
			put(t, cache.Path(output), "built")
		}
		stamp, err := s.fingerprint(cache)
		if err != nil {
			t.Fatal(err)
		}
		if err := writeStamp(cache, pendingStep{step: s, stamp: stamp}); err != nil {
			t.Fatal(err)
		}
	}
	if n, took, err := Expected(cache, layout.Kwok); err != nil || n != 0 || took != 0 {
		t.Errorf("where all is built: got %d steps of %s and error %v", n, took, err)
	}
}
