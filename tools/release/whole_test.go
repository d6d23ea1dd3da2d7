//go:build whole

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/templater-dev/templater/tools/image/program"
)

// command runs a command in a folder and returns its output.
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

// wholePlatforms are the platforms of the releases.
func wholePlatforms(t *testing.T) []program.Platform {
	t.Helper()
	text := os.Getenv("RELEASE_PLATFORMS")
	if text == "" {
		text = "linux/" + runtime.GOARCH
	}
	platforms, err := parsePlatforms(text)
	if err != nil {
		t.Fatal(err)
	}
	return platforms
}

// clone clones the commit to a folder whose files have the given age, and tags it.
func clone(t *testing.T, place string, age time.Duration) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), place)
	command(t, ".", nil, "git", "clone", "--quiet", "../..", folder)
	command(t, folder, nil, "git", "tag", "v1.2.3")
	then := time.Now().Add(-age)
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if entry != nil && entry.Name() == ".git" {
			return filepath.SkipDir
		}
		return errors.Join(err, os.Chtimes(path, then, then))
	})
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestFullReleaseIsReproducible builds a release of templater twice: from two clones with files of different ages, one
// with this machine's build cache, and one with an empty one. It then tests the first.
func TestFullReleaseIsReproducible(t *testing.T) {
	platforms := wholePlatforms(t)
	var names []string
	for _, p := range platforms {
		names = append(names, p.String())
	}
	var releases [2]map[string][]byte
	for i, place := range []string{"a", "another/deep/place"} {
		made := t.Run(place, func(t *testing.T) {
			folder := clone(t, place, time.Duration(i)*100*time.Hour)
			if i > 0 {
				t.Setenv("GOCACHE", t.TempDir())
				t.Setenv("TZ", "Asia/Tokyo")
			}
			releases[i] = makeRelease(t, append(arguments(folder, filepath.Join(folder, "dist")), "--platforms", strings.Join(names, ",")))
		})
		if !made {
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(releases[0])) {
		body := releases[0][name]
		t.Logf("%-45s %10d bytes", name, len(body))
		if !bytes.Equal(body, releases[1][name]) {
			t.Errorf("%s differs: %d bytes and %d bytes", name, len(body), len(releases[1][name]))
		}
	}
	checkSums(t, releases[0])
	checkFormats(t, releases[0], platforms)
	dir := unpack(t, releases[0][linux])
	t.Run("program", func(t *testing.T) { checkWholeProgram(t, dir) })
	t.Run("krew", func(t *testing.T) { checkKrew(t, releases[0]) })
}

// unpack unpacks an archive like a user.
func unpack(t *testing.T, packed []byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	archive := filepath.Join(dir, "templater.tar.gz")
	if err := os.WriteFile(archive, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, dir, nil, "tar", "-xzf", archive)
	return dir
}

func checkWholeProgram(t *testing.T, dir string) {
	t.Helper()
	var told struct{ Version, Commit string }
	if err := json.Unmarshal([]byte(command(t, dir, nil, "./templater", "version", "-o", "json")), &told); err != nil {
		t.Fatal(err)
	}
	if commit := command(t, ".", nil, "git", "rev-parse", "HEAD"); told.Version != "v1.2.3" || told.Commit != commit {
		t.Errorf("templater version prints %+v, want v1.2.3 of %s", told, commit)
	}
	if help := command(t, dir, nil, "sh", "-c", "ln -s templater kubectl-templater && ./kubectl-templater version --help"); !strings.Contains(help, "kubectl templater version") {
		t.Errorf("as a plugin it calls itself otherwise: %s", help)
	}
}

// checkKrew installs a release with krew, offline, and runs the plugin with kubectl.
func checkKrew(t *testing.T, files map[string][]byte) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{pluginFile, linux} {
		if err := os.WriteFile(filepath.Join(dir, name), files[name], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kubectl, err := filepath.Abs("../../.cache/cluster/bin")
	if err != nil {
		t.Fatal(err)
	}
	bin, root := filepath.Join(dir, "bin"), filepath.Join(dir, "krew")
	command(t, "../krew", nil, "go", "build", "-o", filepath.Join(bin, "kubectl-krew"), "sigs.k8s.io/krew/cmd/krew")
	env := []string{"HOME=" + dir, "KREW_ROOT=" + root, "PATH=" + strings.Join([]string{bin, filepath.Join(root, "bin"), kubectl, os.Getenv("PATH")}, ":")}
	sh := func(script string) string {
		t.Helper()
		return command(t, dir, env, "sh", "-c", script)
	}
	sh("kubectl krew install --manifest=" + pluginFile + " --archive=" + linux)
	if version := sh("kubectl templater version"); !strings.Contains(version, "v1.2.3") {
		t.Errorf("the plugin prints %q", version)
	}
	samples, err := filepath.Abs("../../config/samples/simpledeployment")
	if err != nil {
		t.Fatal(err)
	}
	if found := sh("kubectl templater lint " + samples); !strings.Contains(found, "no findings") {
		t.Errorf("the plugin finds %q", found)
	}
}

// down stops a cluster, even after the test has ended.
func down(dir, name string) (string, error) {
	c := exec.Command("go", "run", "./cluster", "down", "--name", name)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err
}
