package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/templater-dev/templater/e2e/cluster/poll"
)

const tutorialPage = "docs/tutorial/README.md"

// TestTutorialPage follows the tutorial in order: it saves the files, runs the commands, and compares their output.
func TestTutorialPage(t *testing.T) {
	parallel(t)
	r := newReader(t)
	steps := stepsOf(t, read(t, filepath.Join(env.root, tutorialPage)))
	for _, step := range steps {
		switch {
		case step.file != "":
			r.save(step.file, step.text)
		case step.stays:
			r.start(step)
		default:
			r.follow(step)
		}
	}
	t.Logf("%d files and commands", len(steps))
}

// pageStep is an instruction of a page.
type pageStep struct {
	file, text string // save text to file

	command, output string
	stays           bool // the command keeps running, in its own terminal
}

var savedAs = regexp.MustCompile("[Ss]ave .*\\bas `([^`]+)`:$")

// stepsOf returns the instructions of a page: YAML blocks after a line with a file name, and the commands of console
// blocks. Commands in a block after a line about a second terminal keep running.
func stepsOf(t *testing.T, page string) []pageStep {
	t.Helper()
	var steps []pageStep
	before := "" // the last non-empty line
	for rest := page; ; {
		text, after, found := strings.Cut(rest, "\n```")
		if !found {
			break
		}
		lines := strings.Split(strings.TrimSpace(text), "\n")
		before = lines[len(lines)-1]
		language, after, _ := strings.Cut(after, "\n")
		block, after, closed := strings.Cut(after, "\n```")
		if !closed {
			t.Fatalf("a block of %s has no end: %s", language, block)
		}
		rest = after
		saved := savedAs.FindStringSubmatch(before)
		switch {
		case language == "yaml" && saved != nil:
			steps = append(steps, pageStep{file: saved[1], text: block + "\n"})
		case saved != nil:
			t.Fatalf("nothing to save after %q", before)
		case language == "console":
			steps = append(steps, commandsOf(t, block, strings.Contains(before, "second terminal"))...)
		}
	}
	if len(steps) == 0 {
		t.Fatal("the page has nothing to do")
	}
	return steps
}

// commandsOf returns the commands of a block, which begin with "$ ". The lines after a command are its output.
func commandsOf(t *testing.T, block string, stay bool) []pageStep {
	t.Helper()
	var steps []pageStep
	for line := range strings.Lines(block + "\n") {
		command, is := strings.CutPrefix(line, "$ ")
		switch {
		case is:
			steps = append(steps, pageStep{command: strings.TrimSpace(command), stays: stay})
		case len(steps) == 0:
			t.Fatalf("a block begins with output: %s", line)
		default:
			steps[len(steps)-1].output += line
		}
	}
	return steps
}

// pageReader runs commands in a shell, in its own folder that contains a clone.
type pageReader struct {
	t         *testing.T
	namespace string
	dir       string
	variables []string
}

func newReader(t *testing.T) *pageReader {
	t.Helper()
	s := newScope(t)
	for _, name := range []string{"website-operator", "templater-system"} {
		s.own(namespaces, name)
	}
	s.own(definitions, "websites.example.com")
	s.own(clusterRoles, "templater-websites")
	s.own(clusterRoles.GroupVersion().WithResource("clusterrolebindings"), "templater-websites")
	s.own(controllers, "websites")
	programs := t.TempDir()
	r := &pageReader{t: t, namespace: s.ns, dir: t.TempDir()}
	for link, to := range map[string]string{
		filepath.Join(r.dir, "templater"):    env.root,
		filepath.Join(programs, "templater"): env.binary,
		filepath.Join(programs, "kubectl"):   env.kubectl,
	} {
		to, err := filepath.Abs(to)
		if err := errors.Join(err, os.Symlink(to, link)); err != nil {
			t.Fatal(err)
		}
	}
	r.variables = append(os.Environ(), "PATH="+programs+string(filepath.ListSeparator)+os.Getenv("PATH"), "KUBECONFIG="+kubeconfigIn(t, s.ns))
	return r
}

// kubeconfigIn writes the administrator's kubeconfig with another namespace.
func kubeconfigIn(t *testing.T, namespace string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(env.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Contexts[config.CurrentContext].Namespace = namespace
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func (r *pageReader) save(file, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *pageReader) shell(command string) *exec.Cmd {
	run := exec.CommandContext(r.t.Context(), "sh", "-c", command)
	run.Dir, run.Env = r.dir, r.variables
	return run
}

// looks matches read-only commands: they are repeated until their output matches the page.
var looks = regexp.MustCompile(`^(kubectl get|templater tree) `)

// follow runs a command, and expects the output on the page.
func (r *pageReader) follow(step pageStep) {
	r.t.Helper()
	once := func() error {
		out, _ := r.shell(step.command).CombinedOutput() // the output shows whether it succeeded
		return r.expect(step, string(out), false)
	}
	if looks.MatchString(step.command) {
		eventually(r.t, soon, once)
	} else if err := once(); err != nil {
		r.t.Fatal(err)
	}
}

// start runs a command that continues until the end of the test, and waits until it has printed the output on the page.
func (r *pageReader) start(step pageStep) {
	r.t.Helper()
	log, err := os.CreateTemp(r.t.TempDir(), "*.log")
	if err != nil {
		r.t.Fatal(err)
	}
	// The page has a terminal, which gets text. The log and the command end with the test: exec makes the command
	// receive the signal.
	command := r.shell("exec " + step.command + " --log-format text")
	command.Stdout, command.Stderr = log, log
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = soon
	if err := errors.Join(command.Start(), log.Close()); err != nil {
		r.t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { _ = command.Wait(); close(exited) }()
	printed := func() string {
		text, err := os.ReadFile(log.Name())
		if err != nil {
			r.t.Error(err)
		}
		return string(text)
	}
	r.t.Cleanup(func() { // the test's context is done by now
		<-exited
		if r.t.Failed() {
			r.t.Logf("%s:\n%s", step.command, tail([]byte(printed()), 80))
		}
	})
	eventually(r.t, soon, func() error {
		select {
		case <-exited:
			return poll.Stop(fmt.Errorf("%s has ended:\n%s", step.command, printed()))
		default:
			return r.expect(step, printed(), true)
		}
	})
}

var (
	address = regexp.MustCompile(`\b\d+(\.\d+){3}\b`)
	columns = regexp.MustCompile(`(\S) {2,}`)
)

// expect compares a command's output with the page, ignoring ages, addresses and column widths. On the page, … stands
// for any text within a line, or, alone on a line, for any number of lines. With more, further output may follow.
func (r *pageReader) expect(step pageStep, out string, more bool) error {
	plain := func(text string) string {
		text = columns.ReplaceAllString(address.ReplaceAllString(alike(text), "ADDRESS"), "$1  ")
		return strings.ReplaceAll(text, r.namespace, "default")
	}
	want, got := plain(step.output), plain(out)
	var pattern strings.Builder
	for line := range strings.Lines(want) {
		if line == "…\n" {
			pattern.WriteString(`(?:.*\n)*?`)
		} else {
			pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*"))
		}
	}
	end := map[bool]string{true: "", false: "$"}[more]
	if regexp.MustCompile("^" + pattern.String() + end).MatchString(got) {
		return nil
	}
	return cmp.Or(same("$ "+step.command, want, got), fmt.Errorf("$ %s: does not fit:\n%s", step.command, got))
}
