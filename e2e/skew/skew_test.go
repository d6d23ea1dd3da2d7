package skew

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const program = `package main

import (
	"bufio"
	"fmt"
	"os"
	"time"
)

func main() {
	began := time.Now()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		now := time.Now()
		fmt.Println(now.Unix(), now.Sub(began) < time.Hour)
	}
}
`

// TestClockFollowsOffsetFile sets the clock of a running program ahead and back.
func TestClockFollowsOffsetFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.org/clock\n\ngo 1.26\n", "main.go": program} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary, file := filepath.Join(dir, "clock"), filepath.Join(dir, "offset")
	if err := Build(t.Context(), dir, ".", binary); err != nil {
		t.Fatal(err)
	}
	clock := exec.CommandContext(t.Context(), binary)
	clock.Env = append(os.Environ(), Variable+"="+file)
	in, err := clock.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := clock.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := clock.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, offset := range []time.Duration{0, 24 * time.Hour, -24 * time.Hour} {
		if err := Set(file, offset); err != nil {
			t.Fatal(err)
		}
		for { // until it has read the file
			if _, err := in.Write([]byte("\n")); err != nil || !lines.Scan() {
				t.Fatal(err, lines.Err())
			}
			unix, measures, _ := strings.Cut(lines.Text(), " ")
			if measures != "true" {
				t.Fatalf("with the offset %s, measured durations are wrong, too", offset)
			}
			at, err := time.ParseDuration(unix + "s")
			if err != nil {
				t.Fatal(err)
			}
			if off := at - time.Duration(time.Now().Unix())*time.Second - offset; off.Abs() < time.Hour {
				break
			}
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := clock.Wait(); err != nil {
		t.Fatal(err)
	}
}
