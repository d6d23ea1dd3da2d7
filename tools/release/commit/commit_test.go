package commit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is a clone with one commit, in which the git commands have been run.
func repository(t *testing.T, commands ...string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "file")
	for _, command := range append([]string{"init -q", "add .", "commit -q -m one"}, commands...) {
		args := append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org"}, strings.Fields(command)...)
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", command, err, out)
		}
	}
	return dir
}

func write(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, file := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestVersion(t *testing.T) {
	const second = "commit -q --allow-empty -m two"
	for why, row := range map[string]struct {
		commands []string
		asked    Asked
		want     string // COMMIT is replaced by the commit
	}{
		"the tag of the commit":               {[]string{"tag v1.2.3"}, Asked{}, "v1.2.3"},
		"a tag with a message":                {[]string{"tag -a -m released v1.2.3"}, Asked{}, "v1.2.3"},
		"a tag that is no version":            {[]string{"tag v1", "tag latest"}, Asked{}, "v0.0.0-gCOMMIT"},
		"the tag of a commit before this one": {[]string{"tag v1.2.3", second}, Asked{}, "v0.0.0-gCOMMIT"},
		"no tag":                              {nil, Asked{}, "v0.0.0-gCOMMIT"},
		"one of two tags, asked for":          {[]string{"tag v1.2.3", "tag v1.2.3-rc.1"}, Asked{Version: "v1.2.3-rc.1"}, "v1.2.3-rc.1"},
		"clean tree, DIRTY=true":              {[]string{"tag v1.2.3"}, Asked{Dirty: true}, "v1.2.3"},
	} {
		dir := repository(t, row.commands...)
		head, err := clone(dir).lines(t.Context(), "rev-parse", "HEAD")
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(row.want, "COMMIT", head[0][:12], 1)
		if got, err := Version(t.Context(), dir, row.asked); got != want || err != nil {
			t.Errorf("%s: got %q and error %v, want %s", why, got, err, want)
		}
	}
}

func TestVersionWithUncommittedFiles(t *testing.T) {
	dir := repository(t, "tag v1.2.3")
	write(t, dir, "1", "2", "3", "4", "5", "6", "7")
	_, err := Version(t.Context(), dir, Asked{Version: "v1.2.3"})
	const want = "files differ from the commit, so the release is not reproducible:\n  ?? 1\n  ?? 2\n  ?? 3\n  ?? 4\n  ?? 5\n  and 2 more\n" +
		"commit or remove them, or have the version end with -dirty: make release DIRTY=true"
	if err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
	if got, err := Version(t.Context(), dir, Asked{Dirty: true}); got != "v1.2.3-dirty" || err != nil {
		t.Errorf("on purpose: got %q and error %v", got, err)
	}
}

func TestVersionWithoutRepository(t *testing.T) {
	dir := t.TempDir()
	if got, err := Version(t.Context(), dir, Asked{Version: "v1.2.3"}); got != "v1.2.3" || err != nil {
		t.Errorf("got %q and error %v", got, err)
	}
	if _, err := Version(t.Context(), dir, Asked{}); err == nil || !strings.HasSuffix(err.Error(), ": it is no clone, whose commit would tell the version: give --version") {
		t.Errorf("got error %v", err)
	}
}

// Another release of the same commit would have other bytes.
func TestVersionRejectsLinkedWorktree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "second")
	repository(t, "tag v1.2.3", "worktree add -q "+dir)
	if _, err := Version(t.Context(), dir, Asked{}); err == nil || !strings.Contains(err.Error(), "it is a second work tree of a clone") {
		t.Errorf("got error %v", err)
	}
}

func TestVersionErrors(t *testing.T) {
	for why, row := range map[string]struct {
		commands []string
		version  string
		want     string
	}{
		"no such tag":          {nil, "v1.2.3", "has no such tag: git tag v1.2.3, or leave VERSION out"},
		"a tag of another":     {[]string{"tag v1.2.3", "commit -q --allow-empty -m two"}, "v1.2.3", ": git checkout v1.2.3"},
		"which of the two":     {[]string{"tag v1.2.3", "tag v1.2.3-rc.1"}, "", "the commit has the tags v1.2.3 and v1.2.3-rc.1: say which one is released: make release VERSION=v1.2.3"},
		"not even a version":   {nil, "1.2.3", `--version: "1.2.3" is not a valid version: give one of the form v1.2.3 or v1.2.3-rc.1`},
		"a clone without HEAD": {[]string{"update-ref -d HEAD"}, "", "git rev-parse HEAD: exit status 128: fatal: "},
	} {
		_, err := Version(t.Context(), repository(t, row.commands...), Asked{Version: row.version})
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got error %v, want one with %q", why, err, row.want)
		}
	}
}
