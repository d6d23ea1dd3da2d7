// Command tell reads what go test -json writes, and says how the tests go while they do: a line for each test at
// its end, and all that a failed one has said. The last lines name those that failed once more, with the beginning of why.
//
//	go test -json ./... | go run ./tell
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if err := tell(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tell:", err)
		os.Exit(1)
	}
}

// event is what go doc test2json describes.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// teller keeps the output of tests until it is known how they end.
type teller struct {
	out    io.Writer
	said   map[string]*strings.Builder // by package and test
	failed bool
	why    []string // a line for each test that failed, and for each package that did so without one
}

// tell tells of the events. The error says that a test has failed, too.
func tell(in io.Reader, out io.Writer) error {
	t := &teller{out: out, said: map[string]*strings.Builder{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(out, lines.Text()) // of the compiler
			continue
		}
		t.take(e)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the events: %w", err)
	}
	if t.failed {
		return fmt.Errorf("tests have failed:\n%s", strings.Join(t.why, "\n"))
	}
	return nil
}

func (t *teller) take(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		t.hear(key, e)
	case "pass", "skip", "fail", "build-fail":
		t.end(key, e)
	}
}

// hear keeps what a test says. What a package says, such as how its cluster comes up, is passed on.
func (t *teller) hear(key string, e event) {
	if e.Test == "" {
		fmt.Fprint(t.out, e.Output)
		return
	}
	if t.said[key] == nil {
		t.said[key] = &strings.Builder{}
	}
	t.said[key].WriteString(e.Output)
}

// end tells how a test has ended; a subtest counts when it fails.
func (t *teller) end(key string, e event) {
	failed := strings.HasSuffix(e.Action, "fail")
	if why := beginning(t.said[key]); failed && (why != "" || !t.failed) {
		t.why = append(t.why, fmt.Sprintf("%s: %s", cmp.Or(e.Test, e.Package, "the build"), cmp.Or(why, "see above")))
	}
	t.failed = t.failed || failed
	if failed && t.said[key] != nil {
		fmt.Fprint(t.out, t.said[key])
	}
	delete(t.said, key)
	if e.Test != "" && (failed || !strings.Contains(e.Test, "/")) {
		fmt.Fprintf(t.out, "%s %s %.1fs\n", e.Action, e.Test, e.Elapsed)
	}
}

// mostSaid is how many bytes of why a test failed its last line has.
const mostSaid = 300

// beginning returns the beginning of what a test has said, in one line and without what go test itself says.
func beginning(said *strings.Builder) string {
	if said == nil {
		return ""
	}
	var lines []string
	for line := range strings.Lines(said.String()) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, " | ")
	return strings.ToValidUTF8(text[:min(len(text), mostSaid)], "")
}
