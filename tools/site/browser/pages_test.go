package browser

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/templater-dev/templater/tools/site/pages"
)

// violation is a violation found by axe-core.
type violation struct {
	ID     string
	Impact string
	Help   string
	Nodes  []struct{ HTML, FailureSummary string }
}

func TestEveryPageIsAccessible(t *testing.T) {
	axe, err := os.ReadFile(*axeFile)
	if err != nil {
		t.Fatalf("axe-core is not there, get it by make test-site: %v", err)
	}
	site, err := pages.Open(*folder)
	if err != nil {
		t.Fatal(err)
	}
	address := serve(t)
	b := open(t)
	b.watch(address)
	for _, view := range []struct {
		width  int64
		scheme string
	}{{wide, "light"}, {narrow, "dark"}} {
		b.look(view.width, view.scheme)
		for _, name := range site.Names() {
			t.Run(view.scheme+"/"+name, func(t *testing.T) {
				b.t = t
				b.do(chromedp.Navigate(address + name))
				if title := value[string](b, `document.querySelector("article > h1")?.textContent ?? ""`); title == "" {
					t.Error("the page has no title")
				}
				if width := value[int64](b, `document.documentElement.scrollWidth`); width > view.width {
					t.Errorf("the page is %d wide, and the window %d: %s", width, view.width, value[string](b, widest))
				}
				b.do(chromedp.Evaluate(string(axe), nil))
				for _, v := range serious(violations(b)) {
					t.Errorf("axe-core: %s (%s): %s: %+v", v.ID, v.Impact, v.Help, v.Nodes[0])
				}
				for _, problem := range b.wrong() {
					t.Error(problem)
				}
			})
		}
	}
	b.t = t
	if dark := value[string](b, `getComputedStyle(document.body).backgroundColor`); dark != "rgb(20, 24, 29)" {
		t.Errorf("dark pages are %s", dark)
	}
}

// widest is the element that extends furthest beyond the window, and is not scrollable.
const widest = `[...document.querySelectorAll("main *, header *")].filter((e) => !e.closest("pre, .table"))
	.sort((a, b) => b.getBoundingClientRect().right - a.getBoundingClientRect().right)[0]?.outerHTML.slice(0, 200) ?? ""`

// violations are all violations found by axe-core.
func violations(b *tab) []violation {
	b.t.Helper()
	var found []violation
	text := value[string](b, `axe.run({resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations))`)
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		b.t.Fatal(err)
	}
	return found
}

// serious returns the violations that axe-core rates serious or critical.
func serious(found []violation) []violation {
	serious := found[:0]
	for _, v := range found {
		if v.Impact == "serious" || v.Impact == "critical" {
			serious = append(serious, v)
		}
	}
	return serious
}
