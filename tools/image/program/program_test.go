package program

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// source is a small module in place of the operator's.
func source(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range map[string]string{"go.mod": "module github.com/templater-dev/templater\n\ngo 1.26\n", "cmd/templater/main.go": text} {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBuildOmitsSourcePath(t *testing.T) {
	platform := Platform{runtime.GOOS, runtime.GOARCH}
	var built [2][]byte
	for i := range built {
		folder := source(t, "package main\n\nfunc main() {}\n")
		var err error
		if built[i], err = Build(t.Context(), folder, platform, "v1.2.3"); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(built[i], []byte(folder)) {
			t.Errorf("the program names the folder %s", folder)
		}
	}
	if !bytes.Equal(built[0], built[1]) {
		t.Error("the same source in two folders gave two programs")
	}
	info, err := buildinfo.Read(bytes.NewReader(built[0]))
	if err != nil || info.Main.Path != "github.com/templater-dev/templater" {
		t.Errorf("got the notes %v and error %v", info, err)
	}
}

func TestPlatforms(t *testing.T) {
	for text, want := range map[string]string{"linux/arm64": "templater", "windows/amd64": "templater.exe"} {
		p, err := ParsePlatform(text)
		if err != nil || p.String() != text || p.File("templater") != want {
			t.Errorf("%s: got %s, a file %s and error %v", text, p, p.File("templater"), err)
		}
	}
	for _, text := range []string{"", "linux", "linux/", "/arm64", "linux/arm/v7"} {
		if p, err := ParsePlatform(text); err == nil || !strings.Contains(err.Error(), "is not of the form SYSTEM/ARCHITECTURE") {
			t.Errorf("%q: got %s and error %v", text, p, err)
		}
	}
}

func TestVersions(t *testing.T) {
	for version, fine := range map[string]bool{
		"": true, "v1.2.3": true, "v0.0.0-gaf2cd75-dirty": true, "v1.0.0-rc.1": true, "v1.0.0-5-gabc": true,
		"1.2.3": false, "v1.2": false, "v1.02.3": false, "v1.2.3+meta": false, "v1.2.3 -X a=b": false, "v1.2.3-": false, "v1.2.3\n": false,
	} {
		if err := CheckVersion(version); (err == nil) != fine {
			t.Errorf("%q: got error %v", version, err)
		}
	}
	if _, err := Build(t.Context(), t.TempDir(), Platform{"linux", "amd64"}, "1"); err == nil || err.Error() != `"1" is not a valid version: give one of the form v1.2.3 or v1.2.3-rc.1` {
		t.Errorf("got error %v", err)
	}
	if diff := cmp.Diff([]string{"build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w"}, Args("")); diff != "" {
		t.Errorf("without a version (-want +got):\n%s", diff)
	}
}

// Go ignores -X for an unknown variable, so the name is compared with its declaration.
func TestVersionVariableExists(t *testing.T) {
	text, err := os.ReadFile("../../../internal/operator/version/version.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `= "`+versionVariable+`"`) || !strings.Contains(string(text), "\nvar released string\n") {
		t.Errorf("internal/operator/version has no variable %s", versionVariable)
	}
}

func TestCompilerErrorsAreReported(t *testing.T) {
	_, err := Build(t.Context(), source(t, "package main\n"), Platform{"linux", "amd64"}, "")
	if err == nil || !strings.Contains(err.Error(), "build for linux/amd64") || !strings.Contains(err.Error(), "main") {
		t.Errorf("got error %v", err)
	}
}

// A release contains its commit, whatever the machine's Go settings are.
func TestBuildRecordsCommit(t *testing.T) {
	folder := source(t, "package main\n\nfunc main() {}\n")
	settings := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(settings, []byte("GOFLAGS=-buildvcs=false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOENV", settings)
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "a"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", folder}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	body, err := Build(t.Context(), folder, Platform{runtime.GOOS, runtime.GOARCH}, "")
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.Read(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) == 40 {
			return
		}
	}
	t.Errorf("the program does not tell its commit: %v", info.Settings)
}
