package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTapeMakesACast(t *testing.T) {
	now := time.Unix(0, 0)
	var out, file bytes.Buffer
	tape := newTape(&out, "/home/me/src", func() time.Time { return now })
	for _, text := range []string{"one\nin /home/me/src/a ", "<two>\n"} {
		now = now.Add(1500 * time.Millisecond)
		if _, err := tape.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if want := "one\nin /home/me/src/a <two>\n"; out.String() != want {
		t.Errorf("passed on %q, want %q", &out, want)
	}
	if err := tape.cast([]string{"make", "demo"}).write(&file); err != nil {
		t.Fatal(err)
	}
	want := `{"version":2,"width":112,"height":30,"title":"make demo"}
[1.5,"o","one\r\nin ~/templater/a "]
[3,"o","<two>\r\n"]
`
	if diff := cmp.Diff(want, file.String()); diff != "" {
		t.Errorf("cast (-want +got):\n%s", diff)
	}
	c, err := parse(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]line{{1.5, "one"}, {3, "in ~/templater/a <two>"}}, c.lines(), cmp.AllowUnexported(line{})); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "line 1 is no header of an asciicast of version 2: ",
		`{"version":3}`:           `line 1 is no header of an asciicast of version 2: {"version":3}`,
		`{"version":2}` + "\n[1,": "line 2: unexpected end of JSON input",
	} {
		if _, err := parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: got error %v, want %q", text, err, want)
		}
	}
}

func TestPart(t *testing.T) {
	lines := []line{{0, "a"}, {0, "b"}, {0, "c"}, {0, " "}, {0, "d"}}
	for _, test := range []struct {
		part part
		want []line
		err  string
	}{
		{part: part{}, want: lines},
		{part: part{from: "b", until: "d"}, want: lines[1:3]},
		{part: part{from: "x"}, err: `no line holds "x"`},
		{part: part{until: "y"}, err: `no line holds "y"`},
		{part: part{from: "d", until: "b"}, err: `"b" comes before "d"`},
	} {
		got, err := test.part.of(lines)
		if message := ""; err != nil || test.err != "" {
			if err != nil {
				message = err.Error()
			}
			if message != test.err {
				t.Errorf("%+v: got error %v, want %q", test.part, err, test.err)
			}
			continue
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(line{})); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.part, diff)
		}
	}
}

// TestSVG draws more lines than fit, with characters that XML escapes.
func TestSVG(t *testing.T) {
	lines := []line{{0, "== Step <1>"}, {60, "  $ a && b"}, {60, ""}}
	for range height {
		lines = append(lines, line{60.5, strings.Repeat("é", width+1)})
	}
	picture := string(svg("make demo", lines))
	decoder := xml.NewDecoder(strings.NewReader(picture))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		`<text class="wait head" style="animation-duration:0.06s" x="16" y="13">== Step &lt;1&gt;</text>`,
		`<text class="wait command" style="animation-duration:1.26s" x="16" y="31">  $ a &amp;&amp; b</text>`,
		`>` + strings.Repeat("é", width-1) + "…</text>",
		".roll{transform:translateY(-54px);animation:roll 3.",
		"100.00%{transform:translateY(-54px)}}",
	} {
		if !strings.Contains(picture, want) {
			t.Errorf("the picture lacks %s:\n%s", want, picture)
		}
	}
}

// TestRun records a command, and draws it.
func TestRun(t *testing.T) {
	recording, picture := filepath.Join(t.TempDir(), "a.cast"), filepath.Join(t.TempDir(), "a.svg")
	if err := run(t.Context(), []string{"record", recording, "go", "env", "GOOS"}); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"draw", recording, picture}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(picture); err != nil || !strings.Contains(string(text), "$ go env GOOS") {
		t.Errorf("got error %v and picture %s", err, text)
	}
	for _, args := range [][]string{nil, {"draw", "a"}, {"draw", "--from", "a", "b"}, {"play", "a", "b"}} {
		if err := run(t.Context(), args); !errors.Is(err, errUsage) {
			t.Errorf("%q: got error %v, want the usage", args, err)
		}
	}
	if err := run(t.Context(), []string{"record", recording, "go", "nonsense"}); err == nil {
		t.Error("a command that fails is recorded")
	}
	if err := run(t.Context(), []string{"draw", "--from", "nowhere", recording, picture}); err == nil || !strings.HasSuffix(err.Error(), `no line holds "nowhere"`) {
		t.Errorf("got error %v", err)
	}
}

// TestPictureOfTheDemo holds the picture in the README to its recording.
func TestPictureOfTheDemo(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`picture draw --from '([^']+)' --until '([^']+)' docs/demo.cast docs/demo.svg`).FindSubmatch(makefile)
	if command == nil {
		t.Fatal("make picture does not draw docs/demo.svg")
	}
	picture := filepath.Join(t.TempDir(), "demo.svg")
	if err := run(t.Context(), []string{"draw", "--from", string(command[1]), "--until", string(command[2]), "../../docs/demo.cast", picture}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/demo.svg: draw it again, as make picture does (-want +got):\n%s", diff)
	}
}
