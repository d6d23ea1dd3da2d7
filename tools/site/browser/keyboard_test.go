package browser

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const focus = `document.activeElement.textContent.trim() || document.activeElement.id`

// tabs presses the tab key, and returns the element that then has the focus.
func (b *tab) tabs() string {
	b.t.Helper()
	b.do(chromedp.KeyEvent(kb.Tab))
	return value[string](b, focus)
}

// types replaces the text in the search field.
func (b *tab) types(text string) {
	b.t.Helper()
	b.do(chromedp.Evaluate(`document.querySelector("#query").select()`, nil), chromedp.KeyEvent(text))
}

func TestKeyboardNavigation(t *testing.T) {
	address := serve(t)
	b := open(t)
	b.watch(address)
	b.look(wide, "light")
	b.do(chromedp.Navigate(address + "operate/install.html"))
	for _, want := range []string{"Skip to the content", "templater", "query", "GitHub"} {
		if got := b.tabs(); got != want {
			t.Fatalf("the focus is on %q, want %q", got, want)
		}
	}
	if value[bool](b, `document.querySelector(".menu").contains(document.activeElement)`) {
		t.Error("the focus is in the menu already")
	}
	b.tabs()
	if !value[bool](b, `document.querySelector(".menu").contains(document.activeElement)`) {
		t.Error("the menu does not follow the header")
	}

	b.do(chromedp.Navigate(address+"operate/security.html"), chromedp.KeyEvent(kb.Tab))
	if !value[bool](b, `document.activeElement.getBoundingClientRect().left >= 0`) {
		t.Error("the skip link cannot be seen when it has the focus")
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`document.activeElement.id === "content"`)
	b.tabs()
	if !value[bool](b, `document.querySelector("main").contains(document.activeElement)`) {
		t.Error("behind the skip link, the focus does not go on in the content")
	}
	for _, problem := range b.wrong() {
		t.Error(problem)
	}
}

func TestMenuIsCollapsedOnNarrowPages(t *testing.T) {
	b := open(t)
	b.look(narrow, "light")
	b.do(chromedp.Navigate(serve(t) + "index.html"))
	if value[bool](b, `document.querySelector(".menu").open`) {
		t.Error("the menu hides the page")
	}
	b.do(chromedp.Focus(".menu summary"), chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelector(".menu").open && document.querySelector(".menu a").checkVisibility()`)
}

// TestSearch searches using only the keyboard, on a site from a server and from disk.
func TestSearch(t *testing.T) {
	disk, err := filepath.Abs(*folder)
	if err != nil {
		t.Fatal(err)
	}
	for name, address := range map[string]string{"server": serve(t), "disk": "file://" + disk + "/"} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			b.watch(address)
			b.look(narrow, "light")
			b.do(chromedp.Navigate(address+"operate/install.html"), chromedp.KeyEvent("/"))
			b.until(`document.activeElement.id === "query"`)

			b.types("zzzz")
			b.until(`document.querySelector("#count").textContent === "Nothing found"`)
			b.do(chromedp.KeyEvent(kb.Escape))
			b.until(`document.querySelector("#found").hidden`)
			b.types("<b>bold</b>")
			b.until(`document.querySelector("#count").textContent === "Nothing found"`)
			b.types("tl021")
			b.until(`document.querySelectorAll("#results a").length > 0`)
			if first := value[string](b, `document.querySelector("#results strong").textContent`); !strings.HasPrefix(first, "Findings › TL021") {
				t.Errorf("the first is %q", first)
			}
			if width := value[int64](b, `document.documentElement.scrollWidth`); width > narrow {
				t.Errorf("with results, the page is %d wide", width)
			}
			b.do(chromedp.KeyEvent(kb.ArrowDown))
			b.until(`document.activeElement.closest("#results li:first-child") !== null`)
			b.do(chromedp.KeyEvent(kb.ArrowUp))
			b.until(`document.activeElement.id === "query"`)
			b.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
			b.until(`location.pathname.endsWith("/reference/findings.html") && location.hash === "#tl021"`)
			for _, problem := range b.wrong() {
				t.Error(problem)
			}
		})
	}
}
