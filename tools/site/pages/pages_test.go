package pages_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/tools/site/pages"
)

// write writes files, by name, to a new folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func read(t *testing.T, folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestStage(t *testing.T) {
	docs := write(t, map[string]string{
		"README.md":             "# Top\n\nFor [all](b/README.md) of `us`.\n\nMore.",
		"b/README.md":           "# B\n\n* [Two](two.md#place)\n* [One](one.md)\n",
		"b/one.md":              "<!-- Written by a tool. -->\n\n# The `one`\n\nText.\n",
		"b/two.md":              "# Two\n\nText.\n",
		"b/three.md":            "# Three\n",
		"b/one_test.go":         "package b",
		"b/recipe/cases/x/a.md": "no page",
	})
	content := filepath.Join(t.TempDir(), "content")
	if err := pages.Stage(docs, content); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"_index.md":   `{"title":"Top","weight":1,"params":{"lead":"For all of us.","source":"docs/README.md"}}` + "\n\n\nFor [all](b/README.md) of `us`.\n\nMore.",
		"b/_index.md": `{"title":"B","weight":1,"params":{"lead":"Two One","source":"docs/b/README.md"}}` + "\n\n\n* [Two](two.md#place)\n* [One](one.md)\n",
		"b/one.md":    `{"title":"The one","weight":2,"params":{"lead":"Text.","source":"docs/b/one.md"}}` + "\n\n\nText.\n",
		"b/two.md":    `{"title":"Two","weight":1,"params":{"lead":"Text.","source":"docs/b/two.md"}}` + "\n\n\nText.\n",
		"b/three.md":  `{"title":"Three","weight":1000,"params":{"lead":"","source":"docs/b/three.md"}}` + "\n\n",
	} {
		if diff := cmp.Diff(want, read(t, content, name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := os.Stat(filepath.Join(content, "b/recipe")); err == nil {
		t.Error("a case became a page")
	}
}

func TestStageRequiresHeading(t *testing.T) {
	for _, text := range []string{"", "Text.\n", "## Two\n", "<!-- without end\n# One\n"} {
		err := pages.Stage(write(t, map[string]string{"a.md": text}), t.TempDir())
		if want := "a.md has no heading: begin it with a line like # Title"; err == nil || err.Error() != want {
			t.Errorf("%q: got error %v, want %q", text, err, want)
		}
	}
}

func open(t *testing.T, files map[string]string) (*pages.Site, string) {
	t.Helper()
	folder := write(t, files)
	site, err := pages.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	return site, folder
}

func TestDeadLinks(t *testing.T) {
	site, _ := open(t, map[string]string{
		"index.html": `<a href="./b/one.html#here">1</a> <a href="#me">2</a> <h2 id="me">Me</h2> <a href="https://example.org/gone">3</a> <script src="./s.js"></script>
			<a href="./b/two.html">4</a> <a href="./b/one.html#there">5</a> <a href="#you">6</a> <img src="https://example.org/a.png"> <a href="./b">7</a> <a name="x">8</a>`,
		"b/one.html":            `<a href="../index.html">up</a> <p id="here">Here</p> <link href="../style.css"> <a href="../playground/index.html">play</a>`,
		"playground/index.html": `<a href="nowhere">its own affair</a>`,
		"s.js":                  "",
	})
	want := []string{
		"b/one.html: ../style.css is not there",
		"index.html: ./b/two.html is not there",
		"index.html: ./b/one.html#there: the page is there, the place #there is not",
		"index.html: #you: the page is there, the place #you is not",
		"index.html: <img> loads https://example.org/a.png from another host",
		"index.html: ./b is not there",
	}
	if diff := cmp.Diff(want, site.DeadLinks()); diff != "" {
		t.Errorf("dead links (-want +got):\n%s", diff)
	}
}

func TestMalformedHTML(t *testing.T) {
	page := func(body string) string {
		return `<!doctype html><html lang="en"><head><title>A</title><link href="a"></head><body><h1 id="a">A</h1>` + body + `</body></html>`
	}
	site, _ := open(t, map[string]string{
		"a.html": page(`<p>Fine<br>and <img src="a" alt="">.</p><svg><path d="M0"/><g></g></svg>`),
		"b.html": page(`<p><b>in</p></b>`),
		"c.html": page(`<p id="a">again</p>`),
		"d.html": page(`<img src="a">`),
		"e.html": `<html><body><h1>E</h1>`,
		"f.html": page(`<h1>Another</h1>`),
	})
	got, err := site.Malformed()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"b.html: </p> ends what is not the last to begin: [html body p b]",
		"c.html: two places are called a",
		"d.html: <img> has no alt",
		"e.html: <html> has no lang", "e.html: <body> has no end", "e.html: 0 times <title>, want one",
		"f.html: 2 times <h1>, want one",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("malformed (-want +got):\n%s", diff)
	}
}

func TestWriteIndex(t *testing.T) {
	site, folder := open(t, map[string]string{
		"a/one.html": `<nav>Menu</nav><article><h1>One</h1> <p>Before <code>x &lt; y</code>.</p> <h2 id="p">Part</h2><p>In it.</p><ul><li>Also.</li></ul><h3 id="q">Sub</h3></article>`,
	})
	file := filepath.Join(folder, "index.js")
	if err := site.WriteIndex(file); err != nil {
		t.Fatal(err)
	}
	want := `window.searchIndex = [` +
		`{"u":"a/one.html","p":"One","h":"","t":"Before x < y ."},` +
		`{"u":"a/one.html#p","p":"One","h":"Part","t":"In it. Also."},` +
		`{"u":"a/one.html#q","p":"One","h":"Sub","t":""}]` + "\n"
	if diff := cmp.Diff(want, read(t, folder, "index.js")); diff != "" {
		t.Errorf("index (-want +got):\n%s", diff)
	}
}

func TestWriteIndexRequiresArticle(t *testing.T) {
	for _, text := range []string{`<p>No article</p>`, `<article><p>No heading</p></article>`} {
		site, folder := open(t, map[string]string{"one.html": `<article><h1>One</h1></article>`, "two.html": text})
		err := site.WriteIndex(filepath.Join(folder, "index.js"))
		if want := "two.html: the search would not find it: it has no article with a heading"; err == nil || err.Error() != want {
			t.Errorf("%s: got error %v, want %q", text, err, want)
		}
	}
}
