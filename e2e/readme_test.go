package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shown is a command of a page, and its output according to the page.
type shown struct{ command, output string }

// sectionOf returns the content under a heading of a page.
func sectionOf(t *testing.T, page, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(env.root, page))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no part %q", page, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// blocksIn returns the code blocks of a language under a heading of a page.
func blocksIn(t *testing.T, page, heading, language string) []string {
	t.Helper()
	var all []string
	for _, part := range strings.Split(sectionOf(t, page, heading), "```"+language+"\n")[1:] {
		text, _, _ := strings.Cut(part, "```")
		all = append(all, text)
	}
	return all
}

// shownIn returns the commands under a heading of a page, in order.
func shownIn(t *testing.T, page, heading string) []shown {
	t.Helper()
	section := sectionOf(t, page, heading)
	var all []shown
	open := false // whether the output of the last command may continue
	for line := range strings.Lines(section) {
		code, ok := strings.CutPrefix(line, "    ")
		command, isCommand := strings.CutPrefix(code, "$ ")
		switch {
		case ok && isCommand:
			all, open = append(all, shown{command: strings.TrimSpace(command)}), true
		case ok && open:
			all[len(all)-1].output += code
		case strings.TrimSpace(line) != "":
			open = false
		}
	}
	return all
}

var (
	uid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	age = regexp.MustCompile(`(?m)\b([0-9]+[smh])+$`)
	// changes matches commands that must not be repeated.
	changes = regexp.MustCompile(`kubectl (-n \S+ )?(apply|wait|create|patch|delete)\b`)
)

// alike removes what varies between runs.
func alike(output string) string {
	return age.ReplaceAllString(uid.ReplaceAllString(output, "UID"), "AGE")
}

// tryShell runs a command of a page in the test's namespace, from the top of the repository, or, if the scope has a
// folder, in that folder and without a namespace.
func (s *scope) tryShell(command string) (string, error) {
	run := env.shell(s.t.Context(), s.ns, command)
	if s.dir != "" {
		run = env.shell(s.t.Context(), "", command)
		run.Dir = s.dir
	}
	out, err := run.CombinedOutput()
	return string(out), err
}

// shell is tryShell, and ends the test if the command fails.
func (s *scope) shell(command string) string {
	s.t.Helper()
	out, err := s.tryShell(command)
	if err != nil {
		s.t.Fatalf("%s: %v: %s", command, err, out)
	}
	return out
}

// follow runs a command of a page and expects the output on the page. It repeats a read-only command until the output
// matches.
func (s *scope) follow(step shown) {
	s.t.Helper()
	if changes.MatchString(step.command) {
		if diff := cmp.Diff(step.output, s.shell(step.command)); diff != "" {
			s.t.Errorf("%s (-page +cluster):\n%s", step.command, diff)
		}
		return
	}
	eventually(s.t, soon, func() error {
		out, err := s.tryShell(step.command)
		if err != nil {
			return fmt.Errorf("%s: %w: %s", step.command, err, out)
		}
		want, got := alike(step.output), alike(out)
		if strings.Contains(step.command, "logs") && !strings.Contains(step.command, "|") {
			want, got = sorted(want), sorted(got) // two interleaved streams
		}
		return same(step.command, want, got)
	})
}
