package build

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// fingerprint is a hash of everything that a step's outputs depend on.
func (s step) fingerprint(cache layout.Cache) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, s.name, s.version, runtime.GOOS, runtime.GOARCH, s.outputs)
	for _, pattern := range s.inputs {
		paths, err := filepath.Glob(cache.Module(pattern))
		if err != nil {
			return "", err
		}
		slices.Sort(paths)
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(sum, "%s %x\n", filepath.Base(path), sha256.Sum256(data))
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// reason is why the step must run; empty if it is up to date.
func (s step) reason(cache layout.Cache, stamp string) string {
	for _, output := range s.outputs {
		if _, err := os.Stat(cache.Path(output)); err != nil {
			return output + " is missing"
		}
	}
	old, err := os.ReadFile(stampFile(cache, s))
	switch {
	case s.always:
		return ""
	case err != nil:
		return "it was never finished"
	case string(old) != stamp:
		return "its inputs changed"
	}
	return ""
}

func writeStamp(cache layout.Cache, s pendingStep) error {
	path := stampFile(cache, s.step)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(s.stamp), 0o644)
}

func stampFile(cache layout.Cache, s step) string { return cache.Path("stamps", s.name) }
