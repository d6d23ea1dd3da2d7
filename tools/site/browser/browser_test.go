// Package browser tests the built site in headless Chromium.
package browser

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

var (
	folder  = flag.String("site", "../../../.cache/site", "the built site")
	axeFile = flag.String("axe", "../../../.cache/axe/node_modules/axe-core/axe.min.js", "axe-core, the rules of accessibility")
)

// wide and narrow are the window widths for pages.
const wide, narrow = 1280, 360

// chromium is the path of the browser. Without it, the test is skipped, or fails in CI.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "there is no Chromium: on Debian, install the package chromium"
	if os.Getenv("CI") == "" {
		t.Skip(missing)
	}
	t.Fatal(missing)
	return ""
}

// tab is a browser tab, and the errors in it.
type tab struct {
	t        *testing.T
	ctx      context.Context //nolint:containedctx // chromedp keeps the tab in it
	mu       sync.Mutex
	problems []string
}

// chrome is the browser shared by all tests, and closeChrome ends it.
var (
	chrome      context.Context //nolint:containedctx // chromedp keeps the browser in it
	closeChrome = func() {}
)

// TestMain ends the browser after all tests.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	closeChrome()
	os.Exit(code)
}

// start starts the browser unless it is running.
func start(t *testing.T) {
	t.Helper()
	if chrome != nil {
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(time.Minute),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	// The allocator creates a folder for the profile, and removes it after the browser has ended.
	allocator, cancelAllocator := chromedp.NewExecAllocator(context.Background(), options...) //nolint:usetesting // it outlives the test
	ctx, cancel := chromedp.NewContext(allocator)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	chrome, closeChrome = ctx, func() {
		cancel()
		chromedp.FromContext(ctx).Allocator.Wait()
		cancelAllocator()
	}
}

// open opens a tab with a new profile, which shares nothing with earlier ones.
func open(t *testing.T) *tab {
	t.Helper()
	start(t)
	whole := cdp.WithExecutor(chrome, chromedp.FromContext(chrome).Browser)
	profile, err := target.CreateBrowserContext().Do(whole)
	if err != nil {
		t.Fatal(err)
	}
	window, err := target.CreateTarget("about:blank").WithBrowserContextID(profile).WithNewWindow(true).Do(whole)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(chrome, chromedp.WithTargetID(window))
	t.Cleanup(func() {
		cancel()
		if err := target.DisposeBrowserContext(profile).Do(whole); err != nil {
			t.Error(err)
		}
	})
	b := &tab{t: t, ctx: ctx}
	b.do(network.Enable(), log.Enable(), emulation.SetFocusEmulationEnabled(true))
	return b
}

// watch records errors from now on: console errors, failed requests, and requests to URLs that do not begin with
// address.
func (b *tab) watch(address string) {
	chromedp.ListenTarget(b.ctx, func(event any) {
		problem := ""
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
				problem = fmt.Sprintf("console: %s", e.Args[0].Value)
			}
		case *runtime.EventExceptionThrown:
			problem = "exception: " + e.ExceptionDetails.Error()
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError {
				problem = "log: " + e.Entry.Text + " " + e.Entry.URL
			}
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, address) && !strings.HasPrefix(e.Request.URL, "data:") {
				problem = "request to another host: " + e.Request.URL
			}
		case *network.EventResponseReceived:
			if e.Response.Status >= 400 {
				problem = fmt.Sprintf("status %d of %s", e.Response.Status, e.Response.URL)
			}
		}
		if problem != "" {
			b.mu.Lock()
			b.problems = append(b.problems, problem)
			b.mu.Unlock()
		}
	})
}

// wrong returns the errors since its last call.
func (b *tab) wrong() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	problems := b.problems
	b.problems = nil
	return problems
}

// do runs actions sequentially.
func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// value evaluates a JavaScript expression. It awaits a promise.
func value[T any](b *tab, expression string) T {
	b.t.Helper()
	var v T
	b.do(chromedp.Evaluate(expression, &v, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return v
}

// until waits until a JavaScript expression is true. It retries if the page is navigating.
func (b *tab) until(expression string) {
	b.t.Helper()
	var holds bool
	var err error
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		if err = chromedp.Run(b.ctx, chromedp.Evaluate(expression, &holds)); err == nil && holds {
			return
		}
	}
	b.t.Fatalf("not so: %s (error %v); the focus is on %s", expression, err, value[string](b, `document.activeElement.outerHTML.slice(0, 200)`))
}

// look sets the window width and the color scheme.
func (b *tab) look(width int64, scheme string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, 800), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// serve serves the site locally.
func serve(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(*folder + "/index.html"); err != nil {
		t.Fatalf("no site, make one by make site: %v", err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(*folder)))
	t.Cleanup(server.Close)
	return server.URL + "/"
}
