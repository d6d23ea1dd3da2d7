package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

// survivors says, by the names of mutants, why it is right that no test notices them.
type survivors map[string]string

// readSurvivors reads a file with two lines for each: the name of the mutant, and the reason, which is
// indented. Lines that begin with # say nothing.
func readSurvivors(file string) (survivors, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out, name := survivors{}, ""
	scanner := bufio.NewScanner(f)
	for scanner.Scan() {
		line := scanner.Text()
		reason := strings.TrimSpace(line)
		switch {
		case reason == "" || strings.HasPrefix(line, "#"):
		case reason == line:
			if name != "" && out[name] == "" {
				return nil, fmt.Errorf("%s gives no reason for %s", file, name)
			}
			name, out[line] = line, ""
		default:
			out[name] = strings.TrimSpace(out[name] + " " + reason)
		}
	}
	if name != "" && out[name] == "" {
		return nil, fmt.Errorf("%s gives no reason for %s", file, name)
	}
	return out, scanner.Err()
}

func matches(m mutant, text string) bool { return strings.Contains(m.name(), text) }

// report is what became of the mutants of a package.
type report struct {
	folder    string
	known     survivors
	all       int
	fates     [notReached + 1]int
	explained int
}

// add counts a mutant, and writes down at once one that nobody has explained.
func (r *report) add(w io.Writer, m mutant, f fate) {
	r.fates[f]++
	if f != survived && f != notReached {
		return
	}
	if r.known[m.name()] != "" {
		r.explained++
		return
	}
	what := "survives"
	if f == notReached {
		what = "is not reached"
	}
	fmt.Fprintf(w, "line %d %s\n%s\n", m.line, what, m.name())
}

func (r *report) tried() int {
	n := 0
	for _, each := range r.fates {
		n += each
	}
	return n
}

func (r *report) left() int { return r.fates[survived] + r.fates[notReached] }

// good reports whether few enough survive, and all that do are explained.
func (r *report) good() bool {
	return r.explained == r.left() && 100*r.left() <= mostSurvivors*r.tried()
}

func (r *report) print(w io.Writer) {
	tried := max(r.tried(), 1)
	fmt.Fprintf(w, "%s: %d mutants, %d tried: %d killed, %d timed out, %d survive, %d not reached (%.1f %% in all, %d of them explained)\n",
		r.folder, r.all, r.tried(), r.fates[killed], r.fates[timedOut], r.fates[survived], r.fates[notReached],
		100*float64(r.left())/float64(tried), r.explained)
}
