package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var (
	program = flag.String("templater", "../../../bin/templater", "templater, built with the playground")
	static  = flag.String("playground", "../../../bin/playground", "the files of the playground")
	readyIn = flag.Duration("ready", 3*time.Second, "time in which the playground is to be ready")
	within  = flag.Duration("answer", 100*time.Millisecond, "time in which 95 of 100 keys are to be answered")
)

// startPlayground starts templater playground, and returns the address that it prints.
func startPlayground(t *testing.T) (address string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, *program, "playground", "--port", "0")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("make test-playground builds %s: %v", *program, err)
	}
	stop = func() {
		cancel()
		_ = cmd.Wait()
	}
	t.Cleanup(stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(line); address == "" {
		t.Fatalf("no address: %s", line)
	}
	return address, stop
}

// playground opens the page with a URL fragment, and waits until it has answered.
func playground(t *testing.T, fragment string) (b *tab, address string, stop func()) {
	t.Helper()
	address, stop = startPlayground(t)
	b = open(t)
	b.watch(address)
	b.look(wide, "light")
	b.do(chromedp.Navigate(address + fragment))
	b.until(`document.documentElement.dataset.ready !== undefined`)
	t.Cleanup(func() {
		for _, problem := range b.wrong() {
			t.Error(problem)
		}
	})
	return b, address, stop
}

const (
	children = `[...document.querySelectorAll(".child summary")].map((s) => s.textContent.trim()).join("; ")`
	findings = `[...document.querySelectorAll(".findings li")].map((s) => s.textContent.trim()).join("; ")`
	idle     = `Number(document.documentElement.dataset.answered)`
)

// write replaces a text, like pasting.
func (b *tab) write(name, text string) {
	b.t.Helper()
	content, err := json.Marshal(text)
	if err != nil {
		b.t.Fatal(err)
	}
	before := value[int](b, idle)
	b.do(chromedp.Evaluate(`(() => { const t = document.getElementById("text-`+name+`"); t.value = `+string(content)+`; t.dispatchEvent(new Event("input", {bubbles: true})); })()`, nil))
	b.until(idle + ` > ` + jsonOf(before))
}

func jsonOf(v any) string {
	text, _ := json.Marshal(v) // a number
	return string(text)
}

// change changes a text with a JavaScript expression of t, such as t.replace("a", "b").
func (b *tab) change(name, expression string) {
	b.t.Helper()
	b.write(name, value[string](b, `((t) => `+expression+`)(document.getElementById("text-`+name+`").value)`))
}

func (b *tab) holds(expression, part string) {
	b.t.Helper()
	if text := value[string](b, expression); !strings.Contains(text, part) {
		b.t.Errorf("no %q in %q", part, text)
	}
}

// press clicks the element of a selector.
func (b *tab) press(selector string) {
	b.t.Helper()
	b.until(`document.querySelector(` + "`" + selector + "`" + `) !== null`)
	b.do(chromedp.Click(selector, chromedp.ByQuery))
}

// TestPlaygroundStartupTime measures the time from opening the page to the first answer, in a browser with an empty
// cache.
func TestPlaygroundStartupTime(t *testing.T) {
	b, _, _ := playground(t, "")
	took := time.Duration(value[int](b, `Number(document.documentElement.dataset.ready)`)) * time.Millisecond
	t.Logf("ready after %s", took)
	if took > *readyIn {
		t.Errorf("the page was ready after %s, want %s", took, *readyIn)
	}
}

// TestPlaygroundKeystrokeLatency types into each example, and measures from key to answer: another name of the parent,
// and for the samples also comments below the parent and below the TemplateController.
func TestPlaygroundKeystrokeLatency(t *testing.T) {
	b, _, _ := playground(t, "")
	names := func(group string) []string {
		return value[[]string](b, `[...document.querySelectorAll("#example optgroup`+group+` option")].map((o) => o.value)`)
	}
	samples := names(`[label=Samples]`)
	for _, name := range names("") {
		b.choose(name)
		if wrong := value[string](b, findings); wrong != "" {
			t.Errorf("%s: %s", name, wrong)
		}
		if !slices.Contains(samples, name) {
			b.measure(name, "parents", `t.value.search(/^  name: /m) + 8`, "abcdefghij")
			continue
		}
		b.measure(name, "parents", `t.value.search(/^  name: /m) + 8`, "abcdefghijklmnopqrst")
		b.measure(name, "parents", `t.value.length`, "####################")
		b.measure(name, "controllers", `t.value.length`, "####################")
	}
}

// measure types keys at a position of a text, given as an expression, and checks how long answers take.
func (b *tab) measure(example, text, at, keys string) {
	b.t.Helper()
	b.press("#tab-" + text)
	b.do(chromedp.Evaluate(`(() => {
		performance.clearMeasures();
		const t = document.getElementById("text-`+text+`");
		t.focus();
		t.setSelectionRange(`+at+`, `+at+`);
	})()`, nil))
	for _, key := range keys {
		before := value[int](b, idle)
		b.do(chromedp.KeyEvent(string(key)))
		b.until(idle + ` > ` + jsonOf(before))
	}
	times := value[[]float64](b, `performance.getEntriesByName("answer").map((m) => m.duration)`)
	slices.Sort(times)
	if len(times) != len(keys) {
		b.t.Fatalf("%s: %d answers to %d keys", example, len(times), len(keys))
	}
	p95 := times[len(times)*95/100]
	b.t.Logf("%-20s %-12s %.1s: median %3.0f ms, 95th percentile %3.0f ms", example, text, keys, times[len(times)/2], p95)
	if p95 > float64(within.Milliseconds()) {
		b.t.Errorf("%s, %s: 95 of 100 keys are answered within %.0f ms, want %s", example, text, p95, *within)
	}
}

// choose selects an example, even if it is already selected.
func (b *tab) choose(name string) {
	b.t.Helper()
	before := value[int](b, idle)
	b.do(chromedp.Evaluate(`(() => { const s = document.getElementById("example"); s.value = "`+name+`"; s.dispatchEvent(new Event("change")); })()`, nil))
	b.until(idle + ` > ` + jsonOf(before))
}

// TestPlaygroundUpdatesOnlyChangedElements changes one of five children while another one is collapsed, and a third one
// has the focus.
func TestPlaygroundUpdatesOnlyChangedElements(t *testing.T) {
	b, _, _ := playground(t, "#example=webshop")
	b.press("#allReady")
	b.until(`document.getElementById("summary").textContent.includes("5 children, ready")`)
	b.do(chromedp.Evaluate(`(() => {
		const all = [...document.querySelectorAll(".child")];
		all[0].open = false;
		all[1].querySelector("pre").focus();
		all.forEach((each) => { each.marked = true; });
	})()`, nil))
	b.change("parents", `t.replace("replicas: 2", "replicas: 3")`)
	if marked := value[string](b, `[...document.querySelectorAll(".child")].map((each) => each.marked === true).join()`); marked != "true,true,true,true,false" {
		t.Errorf("of the children are those that were there: %s", marked)
	}
	if !value[bool](b, `!document.querySelector(".child").open && document.querySelectorAll(".child")[1].querySelector("pre") === document.activeElement`) {
		t.Error("a closed child is open, or the focus is lost")
	}
}

func TestPlaygroundUpdatesOnInput(t *testing.T) {
	b, _, _ := playground(t, "#example=loadtest")
	if n := value[int](b, `document.querySelectorAll(".child").length`); n != 5 {
		t.Fatalf("%d children, want 5", n)
	}
	b.press("#tab-parents")
	b.do(chromedp.Evaluate(`(() => { const t = document.getElementById("text-parents"); const at = t.value.indexOf("replicas: 5") + 11; t.focus(); t.setSelectionRange(at - 1, at); })()`, nil),
		chromedp.KeyEvent("2"))
	b.until(`document.querySelectorAll(".child").length === 2`)
	b.holds(`document.getElementById("summary").textContent`, "2 children, not ready")
	b.press("#allReady")
	b.until(`document.getElementById("summary").textContent.includes("2 children, ready")`)
	b.holds(`document.querySelector("svg.picture").getAttribute("aria-label")`, "2 of 2 ready")
	b.holds(`[...document.querySelectorAll("pre.yaml")].at(-1).textContent`, "conditions:")
}

func TestPlaygroundShowsDependencyOrder(t *testing.T) {
	b, _, _ := playground(t, "#example=webshop")
	b.holds(children, "StatefulSet default/corner-db")
	for _, step := range []struct{ entry, want string }{{"db", "Job default/corner-migrate-1"}, {"migrate", "Deployment default/corner"}} {
		b.press(`input[data-entry="` + step.entry + `"]`)
		b.until(children + `.includes("` + step.want + `")`)
	}
	if waits := value[int](b, `document.querySelectorAll("svg .waits").length`); waits < 2 {
		t.Errorf("the picture shows %d entries that wait", waits)
	}
}

func TestPlaygroundMarksErrorsAndAppliesFixes(t *testing.T) {
	b, _, _ := playground(t, "#example=simpledeployment")
	b.change("controllers", `t.replace(".spec.sleepytime", ".spec.slepytime")`)
	b.until(findings + `.includes("no field .spec.slepytime")`)
	if marked := value[string](b, `document.querySelector("#panel-controllers .marks span").textContent`); marked != "slepytime" {
		t.Errorf("%q is marked", marked)
	}
	b.holds(`document.getElementById("tab-controllers").textContent`, "(1)")
	b.press("#tab-parents")
	b.press(".findings li button")
	b.until(`document.activeElement.id === "text-controllers"`)
	if selected := value[string](b, `document.activeElement.value.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)`); selected != "slepytime" {
		t.Errorf("%q is selected", selected)
	}
	b.press(".findings .apply")
	b.until(findings + ` === ""`)
	b.holds(`document.getElementById("text-controllers").value`, ".spec.sleepytime")

	b.write("parents", "a: [")
	b.until(findings + `.includes("invalid YAML")`)
	b.write("parents", "")
	b.until(findings + ` === ""`)
}

func TestPlaygroundSharesByLink(t *testing.T) {
	b, _, _ := playground(t, "#example=loadtest")
	b.change("parents", `t.replace("replicas: 5", "replicas: 3") + "# <&é☃\n"`)
	b.press("#allReady")
	b.until(`document.getElementById("summary").textContent.includes("3 children, ready")`)
	b.press("#share")
	b.until(`document.getElementById("note").textContent.includes("link") && location.hash.startsWith("#v1=")`)
	link := value[string](b, `location.href`)
	t.Logf("the link has %d characters", len(link))
	texts := value[string](b, `JSON.stringify([...document.querySelectorAll("textarea")].map((t) => t.value))`)

	b.do(chromedp.Navigate("about:blank"))
	b.wrong() // that page does not exist
	b.do(chromedp.Navigate(link))
	b.until(`document.documentElement.dataset.ready !== undefined`)
	b.holds(`document.getElementById("summary").textContent`, "3 children, ready")
	if opened := value[string](b, `JSON.stringify([...document.querySelectorAll("textarea")].map((t) => t.value))`); opened != texts {
		t.Error("the link holds other texts")
	}
	b.do(chromedp.Evaluate(`location.hash = location.hash.slice(0, -20)`, nil))
	b.until(`document.getElementById("note").textContent.includes("it may have been cut")`)
}

// TestPlaygroundHighlightsYAMLAndTemplates checks that colors match the visible lines at the start, after scrolling and
// in a multi-line action.
func TestPlaygroundHighlightsYAMLAndTemplates(t *testing.T) {
	b, _, _ := playground(t, "#example=loadtest")
	const (
		colors  = `document.querySelector("#panel-controllers .colors")`
		text    = `document.getElementById("text-controllers")`
		visible = `(() => { const shown = ` + colors + `.textContent; return shown.length > 100 && ` + text + `.value.concat("\n").includes(shown); })()`
	)
	b.until(visible)
	for _, class := range []string{"key", "string", "action", "field", "keyword"} {
		b.until(`[...` + colors + `.querySelectorAll("span.` + class + `")].length > 0 || (` + text + `.scrollTop += 100, false)`)
	}
	b.do(chromedp.Evaluate(text+`.scrollTop = `+text+`.scrollHeight`, nil))
	b.until(visible + ` && ` + text + `.value.concat("\n").endsWith(` + colors + `.textContent)`)
	b.write("controllers", "a: b\n"+"{{/* one\n"+strings.Repeat("key: comment\n", 200)+"*/}}\nkey: value\n")
	b.do(chromedp.Evaluate(text+`.scrollTop = 1000`, nil))
	b.until(colors + `.querySelectorAll("span.action").length > 10 && ` + colors + `.querySelectorAll("span.key").length === 0`)
	b.do(chromedp.Evaluate(text+`.scrollTop = `+text+`.scrollHeight`, nil))
	b.until(colors + `.querySelectorAll("span.key").length === 1`)
}

// TestPlaygroundRejectsHostileLinks opens malicious links.
func TestPlaygroundRejectsHostileLinks(t *testing.T) {
	b, _, _ := playground(t, "#example=loadtest")
	pack := func(state string) string {
		return value[string](b, `(async () => (await import("./share.js")).pack(`+state+`))()`)
	}
	entries := `Object.fromEntries([...document.querySelectorAll("textarea")].map((t) => [t.id.slice(5), t.value]))`
	empty := `[...document.querySelectorAll("textarea")].every((t) => t.value === "")`
	for _, row := range []struct{ why, state, holds string }{
		{"many entries", `({...` + entries + `, ready: Array.from({length: 200000}, (_, i) => "e" + i)})`, `document.querySelectorAll(".child").length === 5`},
		{"a prototype", `JSON.parse('{"__proto__": {"controllers": "x", "allReady": true}, "constructor": {"prototype": {"a": 1}}, "toString": 1}')`, empty + ` && !document.getElementById("allReady").checked && ({}).a === undefined`},
		{"no texts", `({controllers: {length: 5}, parents: [1], definitions: 7, observed: null, ready: {length: 9}, allReady: "yes", time: {}})`, empty + ` && !document.getElementById("allReady").checked`},
		{"a list", `[1, 2]`, empty},
		{"many lines", `({controllers: "- a\n".repeat(50000)})`, `document.getElementById("text-controllers").value.length === 200000`},
		{"a text that is long", `({parents: "x".repeat(2 << 20)})`, `document.getElementById("note").textContent.includes("more than the playground takes")`},
		{"more than a link may unpack to", `({parents: "x".repeat(20 << 20)})`, `document.getElementById("note").textContent.includes("contains no input")`},
	} {
		t.Run(row.why, func(t *testing.T) {
			b.t = t
			b.choose("loadtest")
			b.until(`document.querySelectorAll(".child").length === 5`)
			link := pack(row.state)
			t.Logf("%d characters", len(link))
			b.do(chromedp.Evaluate(`location.hash = `+quoted(link), nil))
			b.until(row.holds)
		})
	}
	b.t = t
	b.choose("simpledeployment")
	b.until(`document.querySelectorAll(".child").length === 1`)
	for _, broken := range []string{"v1=AAAA", "v1=%3Cscript%3E", "v1="} {
		b.do(chromedp.Evaluate(`document.getElementById("note").textContent = ""; location.hash = "#`+broken+`"`, nil))
		if broken != "v1=" {
			b.until(`document.getElementById("note").textContent.includes("contains no input")`)
		}
	}
}

func quoted(text string) string {
	content, _ := json.Marshal(text) // a string
	return string(content)
}

// TestPlaygroundWorksOffline cuts the network, stops the server, and continues; a template with an endless loop is
// stopped, and the next text is answered again.
func TestPlaygroundWorksOffline(t *testing.T) {
	b, _, stop := playground(t, "#example=loadtest")
	b.do(network.EmulateNetworkConditions(true, 0, 0, 0))
	stop()
	b.change("parents", `t.replace("replicas: 5", "replicas: 4")`)
	b.until(`document.querySelectorAll(".child").length === 4`)
	b.change("controllers", `t.replace("template: |", "template: |\n      {{ range 1000000000000 }}{{ end }}")`)
	b.until(findings + `.includes("too much work") || ` + findings + `.includes("was stopped")`)
	b.change("controllers", `t.replace("{{ range 1000000000000 }}{{ end }}", "")`)
	b.until(findings + ` === "" && document.querySelectorAll(".child").length === 4`)
}

// TestPlaygroundEscapesInput checks that no input becomes part of the page, or stops it.
func TestPlaygroundEscapesInput(t *testing.T) {
	const script = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`
	b, _, _ := playground(t, "#example=simpledeployment")
	good := value[string](b, `document.getElementById("text-controllers").value`)
	before := value[int](b, `document.querySelectorAll("img, script, iframe, object").length`)
	b.change("parents", `t.replace("app: simple-app", "app: simple-app\n  annotations:\n    a: `+strings.ReplaceAll(script, `"`, `\"`)+`")`)
	b.write("controllers", strings.ReplaceAll(good, "image: ", "image: "+script+" # "))
	b.write("parents", "apiVersion: example.org/v1\nkind: SimpleDeployment\nmetadata: {name: '"+script+"'}\n")
	b.write("observed", script)
	b.write("controllers", strings.Replace(good, "name: ", "name: "+script, 1))
	b.write("observed", "")
	if value[bool](b, `window.hacked === 1`) || value[int](b, `document.querySelectorAll("img, script, iframe, object").length`) != before {
		t.Error("a text has become part of the page")
	}
	b.write("controllers", strings.Repeat("x", 2<<20))
	b.until(findings + `.includes("more than 1 MiB")`)
	b.write("controllers", strings.Repeat("- a\n", 200_000))
	b.write("controllers", strings.Repeat("[", 100_000))
	b.write("controllers", "a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e]\ng: &g [*f, *f, *f, *f, *f, *f, *f, *f]\nh: [*g, *g, *g, *g, *g, *g, *g, *g]\n")
	b.write("controllers", strings.Replace(good, "template: |\n", "template: |\n      {{ define \"x\" }}{{ include \"x\" . }}{{ end }}{{ include \"x\" . }}\n", 1))
	b.write("controllers", strings.Replace(good, "template: |\n", "template: |\n      {{ $s := \"xxxxxxxx\" }}{{ range 100 }}{{ $s = print $s $s }}{{ end }}{{ $s }}\n", 1))
	b.write("controllers", strings.Replace(good, "template: |\n", "template: |\n      {{ range 1000000000000 }}{{ end }}\n", 1))
	b.write("parents", "apiVersion: example.org/v1\nkind: SimpleDeployment\nmetadata: {name: a}\n")
	b.until(findings + ` !== ""`)
	b.write("controllers", good)
	b.until(findings + ` === "" && document.querySelectorAll(".child").length === 1`)
}

// TestPlaygroundIsAccessible checks the page with axe-core, wide and narrow, light and dark, with and without
// diagnostics; and uses it with the keyboard.
func TestPlaygroundIsAccessible(t *testing.T) {
	axe, err := os.ReadFile(*axeFile)
	if err != nil {
		t.Fatalf("axe-core is not there, get it by make test-playground: %v", err)
	}
	b, _, _ := playground(t, "#example=webshop")
	b.do(chromedp.Evaluate(string(axe), nil))
	for _, width := range []int64{wide, narrow} {
		for _, scheme := range []string{"light", "dark"} {
			for _, mistake := range []bool{false, true} {
				b.look(width, scheme)
				if mistake {
					b.change("controllers", `t.replace(".spec.schema", ".spec.schemo")`)
					b.until(findings + ` !== ""`)
				}
				if reached := value[int64](b, `document.documentElement.scrollWidth`); reached > width {
					t.Errorf("the page is %d wide, and the window %d: %s", reached, width, value[string](b, widest))
				}
				for _, v := range violations(b) {
					t.Errorf("%d %s, mistake %v: axe-core: %s (%s): %s: %+v", width, scheme, mistake, v.ID, v.Impact, v.Help, v.Nodes[0])
				}
				if folder := os.Getenv("PLAYGROUND_PICTURES"); folder != "" {
					var picture []byte
					b.do(chromedp.FullScreenshot(&picture, 100))
					if err := os.WriteFile(folder+"/"+scheme+"-"+jsonOf(width)+"-"+jsonOf(mistake)+".png", picture, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if mistake {
					b.change("controllers", `t.replace(".spec.schemo", ".spec.schema")`)
				}
			}
		}
	}
	b.do(chromedp.Focus("#tab-controllers"), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	b.until(`document.activeElement.id === "tab-parents" && !document.getElementById("panel-parents").hidden`)
	b.do(chromedp.KeyEvent(kb.End))
	b.until(`document.activeElement.id === "tab-related"`)
	b.do(chromedp.KeyEvent(kb.Tab))
	b.until(`document.activeElement.id === "text-related"`)
	b.do(chromedp.KeyEvent(kb.Tab)) // leaves the text field
	b.until(`document.activeElement.id === "allReady"`)
	b.do(chromedp.KeyEvent(" "))
	b.until(`document.getElementById("summary").textContent.includes(", ready")`)
}

// TestPlaygroundFromStaticFiles serves the folder with a plain file server.
func TestPlaygroundFromStaticFiles(t *testing.T) {
	server := httptest.NewServer(http.StripPrefix("/some/place", http.FileServer(http.Dir(*static))))
	t.Cleanup(server.Close)
	b := open(t)
	b.watch(server.URL)
	b.do(chromedp.Navigate(server.URL + "/some/place/#example=webshop"))
	b.until(`document.documentElement.dataset.ready !== undefined`)
	b.holds(children, "StatefulSet default/corner-db")
	for _, problem := range b.wrong() {
		t.Error(problem)
	}
}
