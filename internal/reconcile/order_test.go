package reconcile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// shop has a Job db, a ConfigMap web that waits for it because its template reads it, and a ConfigMap page that waits for web.
const shop = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children:
  - name: page
    dependsOn: [web]
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: page}
  - name: web
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: web}
      data: {db: {{ (named "db" .children.db).status.host }}, text: {{ .spec.text }}}
  - name: db
    template: |
      apiVersion: batch/v1
      kind: Job
      metadata: {name: db, labels: {version: {{ .spec.db }}}}
`

const shopApp = "{apiVersion: example.org/v1, kind: App, metadata: {namespace: ns, name: one}, spec: {text: hello, db: one}}"

const dbIsReady = "{host: h, conditions: [{type: Complete, status: 'True'}]}"

const dbIsNot = "{host: h, startTime: x}"

const webWaits = "False Waiting: children[web] waits for children[db]: Job ns/db: "

const pageWaits = "; children[page] waits for children[web]"

const dbIsRunning = "running, 0 of 1 Pods have succeeded"

// open has a shop whose db is ready, so that all is there.
func open(t *testing.T, controller string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.apply(controller)
	c.apply(shopApp)
	c.run()
	c.report("db", dbIsReady)
	c.run()
	c.quiet("all is there")
	if got, want := c.condition("apps", "one", "Ready"), "True Ready: all children are ready: 3"; got != want {
		t.Fatalf("ready condition %q, want %q", got, want)
	}
	return c
}

// wantReady compares the ready condition of the parent.
func (c *cluster) wantReady(want string) {
	c.t.Helper()
	if got := c.condition("apps", "one", "Ready"); got != want {
		c.t.Errorf("ready condition\n%s, want\n%s", got, want)
	}
}

func TestEntriesBeginWhenWhatTheyWaitForIsReady(t *testing.T) {
	c := newCluster(t)
	c.apply(shop)
	c.apply(shopApp)
	wantRequests(t, "first pass", c.run(), "create jobs db", "status apps one")
	c.wantReady(webWaits + "not started yet" + pageWaits)
	c.quiet("it waits")
	c.report("db", dbIsNot)
	wantRequests(t, "it has started", c.run(), "status apps one")
	c.wantReady(webWaits + dbIsRunning + pageWaits)
	result, again := c.pass("apps", "one")
	wantRequests(t, "another pass", again)
	if result.Outcome != record.Waiting {
		t.Errorf("the pass %v, want one that waits", result.Outcome)
	}
	if got := c.parentCounts(); got != "total 1, ready 0, failed 0" {
		t.Errorf("counts: %s", got)
	}
	c.report("db", dbIsReady)
	wantRequests(t, "it is ready", c.run(), "create configmaps web", "create configmaps page", "status apps one")
	c.wantReady("True Ready: all children are ready: 3")
	c.quiet("all is there")
	if diff := cmp.Diff([]string(nil), c.events); diff != "" {
		t.Errorf("Events, though nothing was wrong:\n%s", diff)
	}
}

func TestWhatADependencyThatFlapsHoldsBack(t *testing.T) {
	c := open(t, shop)
	c.report("db", dbIsNot)
	wantRequests(t, "it is not ready any more", c.run(), "status apps one")
	c.wantReady("False Progressing: 2 of 3 children are ready: Job ns/db: " + dbIsRunning)
	c.edit(configMap("web"), func(o *unstructured.Unstructured) { o.Object["data"].(map[string]any)["text"] = "edited" })
	wantRequests(t, "what others change is undone all the same", c.run(), "update configmaps web")
	c.edit(configMap("page"), func(o *unstructured.Unstructured) { delete(o.GetLabels(), "templater.dev/child") })
	c.quiet("page is as it should be")
	c.apply(with(t, shopApp, "text: hello", "text: bye"))
	wantRequests(t, "a change has to wait", c.run(), "status apps one")
	c.wantReady(webWaits + dbIsRunning)
	if got := c.textOf("web"); got != "hello" {
		t.Errorf("the text is %q", got)
	}
	c.gone(configMap("page"))
	wantRequests(t, "so does what is gone", c.run(), "status apps one")
	c.wantReady(webWaits + dbIsRunning + pageWaits)
	c.quiet("it waits")
	c.report("db", dbIsReady)
	wantRequests(t, "it is ready again", c.run(), "update configmaps web", "create configmaps page", "status apps one")
	if got := c.textOf("web"); got != "bye" {
		t.Errorf("the text is %q", got)
	}
	c.quiet("all is there")
}

func TestADependencyThatIsDeletedComesBackFirst(t *testing.T) {
	c := open(t, shop)
	c.Remove(locationOf(c.get("jobs", "db")))
	c.Remove(configMap("web"))
	c.gone(configMap("page"))
	wantRequests(t, "all are gone", c.run(), "create jobs db", "status apps one")
	c.wantReady(webWaits + "not started yet" + pageWaits)
	c.report("db", dbIsReady)
	wantRequests(t, "it is ready again", c.run(), "create configmaps web", "create configmaps page", "status apps one")

	c.gone(locationOf(c.get("jobs", "db")))
	wantRequests(t, "it alone is gone, and the others cannot even be rendered", c.run(), "create jobs db", "status apps one")
	if c.get("configmaps", "web") == nil || c.get("configmaps", "page") == nil {
		t.Error("what waits was pruned")
	}
	c.report("db", dbIsReady)
	wantRequests(t, "it is ready once more", c.run(), "status apps one")
	c.quiet("all is there")
}

func TestADependencyIsRecreatedWhileOthersWait(t *testing.T) {
	c := open(t, with(t, shop, "  - name: db\n", "  - name: db\n    updateStrategy: {type: Recreate}\n"))
	c.apply(with(t, shopApp, "db: one", "db: two", "hello", "bye"))
	wantRequests(t, "it is out of date", c.run(), "delete-foreground jobs db", "status apps one")
	c.wantReady(webWaits + "being deleted")
	c.quiet("it is not gone yet")
	c.gone(locationOf(c.get("jobs", "db")))
	wantRequests(t, "it is gone", c.run(), "create jobs db", "status apps one")
	c.wantReady(webWaits + "not started yet")
	c.report("db", dbIsReady)
	wantRequests(t, "it is ready", c.run(), "update configmaps web", "status apps one")
	c.quiet("all is there")
}

func TestReadyWhenDecidesWhenOthersBegin(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, shop, "  - name: db\n", "  - name: db\n    readyWhen: eq .object.metadata.labels.version .object.status.version\n"))
	c.apply(shopApp)
	wantRequests(t, "first pass", c.run(), "create jobs db", "status apps one")
	c.wantReady(webWaits + "readyWhen is not true yet: not started yet" + pageWaits)
	c.report("db", dbIsReady)
	wantRequests(t, "it is complete", c.run(), "status apps one")
	c.report("db", "{host: h, version: one}")
	wantRequests(t, "it is ready", c.run(), "create configmaps web", "create configmaps page", "status apps one")
	c.apply(with(t, shopApp, "db: one", "db: two", "hello", "bye"))
	wantRequests(t, "it is changed first", c.run(), "update jobs db", "status apps one")
	c.wantReady(webWaits + "readyWhen is not true yet: not started yet")
	c.report("db", "{host: h, version: two}")
	wantRequests(t, "and then others", c.run(), "update configmaps web", "status apps one")
	c.apply(with(t, shop, "  - name: db\n", "  - name: db\n    readyWhen: .object.status.version\n"))
	wantRequests(t, "readyWhen is broken", c.run(), "status apps one")
	c.wantReady(`False TemplateError: children[db].readyWhen:1:1: .object.status.version is a string, but must be true or false; compare it, as in eq .object.status.phase "Bound"`)
	c.quiet("it waits for the author")
}

func TestEntriesThatAreReadyAtOnceFollowEachOther(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, shop, `(named "db" .children.db).status.host`, `(named "db" .children.db).kind`, "apiVersion: batch/v1\n      kind: Job", "apiVersion: v1\n      kind: ConfigMap"))
	c.apply(shopApp)
	wantRequests(t, "first passes", c.run(), "create configmaps db", "create configmaps web", "create configmaps page", "status apps one")
	c.wantReady("True Ready: all children are ready: 3")
	c.quiet("all is there")
	c.apply(with(t, shopApp, "text: hello, db: one", "text: bye, db: two"))
	wantRequests(t, "a change", c.run(), "update configmaps db", "update configmaps web", "status apps one")
	c.quiet("all is up to date")
}

func TestADependencyThatFailsHoldsOthersBack(t *testing.T) {
	c := newCluster(t)
	c.apply(shop)
	c.apply(shopApp)
	c.run()
	c.report("db", "{conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded}]}")
	wantRequests(t, "it has failed", c.run(), "status apps one")
	c.wantReady("False ChildFailing: 1 of 2 children have failed: Job ns/db: failed (BackoffLimitExceeded)")
	c.quiet("nothing is made")
}

func TestADependencyWhoseTemplateFailsHoldsOthersBack(t *testing.T) {
	for template, want := range map[string]string{
		`{{ fail "no" }}`:            "False TemplateFailed: children[db]:1:4: no",
		`{{ wait "not yet" }}`:       "False Waiting: not yet; children[web] waits for children[db], which has an error; children[page] waits for children[web]",
		`{kind: Job, a: {}}`:         "False TemplateError: children[db]:1:1: the object has no apiVersion, or it is not a string",
		`{{ if .spec.no }}{{ end }}`: "False TemplateError: children[web]:",
	} {
		t.Run(template, func(t *testing.T) {
			before, _, _ := strings.Cut(shop, "      apiVersion: batch/v1")
			c := newCluster(t)
			c.apply(before + "      " + template + "\n")
			c.apply(shopApp)
			wantRequests(t, template, c.run(), "status apps one")
			if got := c.condition("apps", "one", "Ready"); !strings.HasPrefix(got, want) {
				t.Errorf("ready condition\n%s, want\n%s", got, want)
			}
			c.quiet(template)
		})
	}
}

// TestFaultsOfAnEntryThatWaitsAreToldInItsTurn also where it is not the fault of what it waits for.
func TestFaultsOfAnEntryThatWaitsAreToldInItsTurn(t *testing.T) {
	for fault, want := range map[string]string{
		`fail "no"`:                     "False TemplateFailed: children[web]:4:15: no",
		`wait "not yet"`:                "False Waiting: not yet; children[page] waits for children[web], which has an error",
		`.spec.none`:                    "False TemplateError: children[web]:4:15: .spec.none has no value; set it, or use default, required or if",
		"1 }}}\n      status: {a: {{ 1": "False InvalidChild: children[web]:1: a template must not set status: remove it",
	} {
		t.Run(fault, func(t *testing.T) {
			c := newCluster(t)
			c.apply(with(t, shop, `(named "db" .children.db).status.host`, fault, "  - name: web\n", "  - name: web\n    dependsOn: [db]\n", ", text: {{ .spec.text }}", ""))
			c.apply(shopApp)
			wantRequests(t, fault, c.run(), "create jobs db", "status apps one")
			c.wantReady(webWaits + "not started yet" + pageWaits)
			c.report("db", dbIsReady)
			wantRequests(t, fault+", in its turn", c.run(), "status apps one")
			c.wantReady(want)
			c.quiet(fault)
		})
	}
}

// TestTheBudgetIsToldOf although an entry that waits has used it up: nothing else can be rendered then.
func TestTheBudgetIsToldOf(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, shop, `(named "db" .children.db).status.host`, "range 1000000000 }}{{ end }}{{ 1", "  - name: web\n", "  - name: web\n    dependsOn: [db]\n"))
	c.apply(shopApp)
	c.run()
	if got := c.condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False TemplateError: children[web]:4:") {
		t.Errorf("ready condition %q", got)
	}
}

func TestWhatIsPrunedWhileEntriesWait(t *testing.T) {
	more := with(t, shop, "metadata: {name: page}\n", "metadata: {name: page}\n      {{ range .spec.pages }}\n      ---\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ . }}}\n      {{ end }}\n"+
		"  - name: lone\n    template: |\n      {{ range .spec.lone }}\n      ---\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ . }}}\n      {{ end }}\n",
		"metadata: {name: db, labels: {version: {{ .spec.db }}}}\n", "metadata: {name: db, labels: {version: {{ .spec.db }}}}\n      {{ range .spec.dbs }}\n      ---\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ . }}}\n      {{ end }}\n")
	for why, row := range map[string]struct {
		status string // of the Job, which is not ready
		want   []string
	}{
		"all can be rendered: what waits keeps its own":                                     {dbIsNot, []string{"delete configmaps d", "delete configmaps l"}},
		"web cannot be rendered: only what it waits for goes on, or it might wait for ever": {"{startTime: x}", []string{"delete configmaps d"}},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(more)
			c.apply(with(t, shopApp, "db: one", "db: one, pages: [p], lone: [l], dbs: [d]"))
			c.run()
			c.report("db", dbIsReady)
			c.run()
			c.quiet("all is there")
			c.report("db", row.status)
			c.run()
			c.apply(shopApp)
			wantRequests(t, "three are no longer rendered", withoutStatus(c.run()), row.want...)
			c.quiet("it waits")
			c.report("db", dbIsReady)
			c.run()
			c.wantReady("True Ready: all children are ready: 3")
			for _, name := range []string{"p", "l", "d"} {
				if c.get("configmaps", name) != nil {
					t.Errorf("%s is still there", name)
				}
			}
		})
	}
}

// TestAnObjectThatMovesWhileEntriesWait keeps what an entry may want that cannot be rendered, though another one, that cannot be rendered
// either, waits for the entry that the object is from.
func TestAnObjectThatMovesWhileEntriesWait(t *testing.T) {
	const data = "      ---\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: data}\n"
	other := "  - name: x\n    template: |\n      apiVersion: batch/v1\n      kind: Job\n      metadata: {name: x, labels: {version: {{ .spec.db }}}}\n" +
		"  - name: b\n    template: |\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: b}\n      data: {x: {{ (named \"x\" .children.x).status.host }}}\n"
	c := newCluster(t)
	c.apply(shop + data + other)
	c.apply(shopApp)
	c.run()
	for _, job := range []string{"db", "x"} {
		c.report(job, dbIsReady)
	}
	c.run()
	c.quiet("all is there")
	for _, job := range []string{"db", "x"} {
		c.report(job, "{startTime: x}")
	}
	c.run()
	c.apply(shop + other + data)
	wantRequests(t, "data moves from db to b", withoutStatus(c.run()))
	c.quiet("it waits")
	for _, job := range []string{"db", "x"} {
		c.report(job, dbIsReady)
	}
	c.settle()
	if got := c.get("configmaps", "data").GetLabels()[v1.LabelChild]; got != "b" {
		t.Errorf("it belongs to %s", got)
	}
}

// TestOtherStrategiesWhileTheirEntryWaits leaves objects alone that nothing would change in any case.
func TestOtherStrategiesWhileTheirEntryWaits(t *testing.T) {
	for strategy, row := range map[string]struct {
		waiting, ready string
		then           []string
	}{
		"CreateOnly": {"False Progressing: 2 of 3 children are ready: Job ns/db: " + dbIsRunning, "True Ready: all children are ready: 3", nil},
		"OnDelete":   {"False Outdated: 1 of 3 children are out of date: delete them to have them recreated", "False Outdated: 1 of 3 children are out of date: delete them to have them recreated", nil},
		"Recreate":   {webWaits + dbIsRunning, "False Progressing: 2 of 3 children are ready: ConfigMap ns/web: being deleted", []string{"delete-foreground configmaps web"}},
	} {
		t.Run(strategy, func(t *testing.T) {
			c := open(t, with(t, shop, "  - name: web\n", "  - name: web\n    updateStrategy: {type: "+strategy+"}\n"))
			c.report("db", dbIsNot)
			c.run()
			c.apply(with(t, shopApp, "hello", "bye"))
			wantRequests(t, "it waits", withoutStatus(c.run()))
			c.wantReady(row.waiting)
			c.quiet("it waits")
			c.report("db", dbIsReady)
			wantRequests(t, "it is ready", withoutStatus(c.run()), row.then...)
			if got, _, _ := strings.Cut(c.condition("apps", "one", "Ready"), ";"); got != row.ready {
				t.Errorf("ready condition %q, want %q", got, row.ready)
			}
		})
	}
}

// TestChildrenGoAgainstTheOrder where spec.finalize says so: what waited goes first.
func TestChildrenGoAgainstTheOrder(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, shop, "spec:\n", "spec:\n  finalize: {order: Reverse}\n"))
	c.apply(shopApp)
	c.settle()
	c.report("db", dbIsReady)
	c.settle()
	c.wantReady("True Ready: all children are ready: 3")
	for name, want := range map[string]string{"web": "1", "page": "2"} {
		if got := c.get("configmaps", name).GetAnnotations()["templater.dev/order"]; got != want {
			t.Errorf("%s has the level %q, want %s", name, got, want)
		}
	}
	c.deletes(one, metav1.DeletePropagationBackground)
	got := slices.DeleteFunc(c.settle(), func(request string) bool { return strings.HasPrefix(request, "status ") })
	wantRequests(t, "the parent is deleted", got, "delete-foreground configmaps page", "delete-foreground configmaps web", "delete-foreground jobs db", parentRelease)
}

func TestWhatARenamedEntryKeepsWhileItWaits(t *testing.T) {
	for why, row := range map[string]struct {
		status string // of the Job, which is not ready
		writes []string
	}{
		"it can be rendered":    {dbIsNot, []string{"update configmaps web"}},
		"it cannot be rendered": {"{startTime: x}", nil},
	} {
		t.Run(why, func(t *testing.T) {
			c := open(t, shop)
			c.report("db", row.status)
			c.run()
			c.apply(with(t, shop, "  - name: web\n", "  - name: front\n", "dependsOn: [web]", "dependsOn: [front]"))
			wantRequests(t, "renamed", withoutStatus(c.run()), row.writes...)
			c.quiet("it waits")
			c.report("db", dbIsReady)
			c.run()
			c.wantReady("True Ready: all children are ready: 3")
			if got := c.get("configmaps", "web").GetLabels()["templater.dev/child"]; got != "front" {
				t.Errorf("it belongs to %s", got)
			}
		})
	}
}

// withoutStatus leaves out writes of the parent's status.
func withoutStatus(requests []string) []string {
	out := []string{}
	for _, request := range requests {
		if !strings.HasPrefix(request, "status ") {
			out = append(out, request)
		}
	}
	return out
}

// TestATemplateWaitsForAFieldOfAnotherChild although that child is ready.
func TestATemplateWaitsForAFieldOfAnotherChild(t *testing.T) {
	withStatus := with(t, shop, "  children:\n", "  status:\n    template: |\n      host: {{ (first .children.db).status.host }}\n      text: {{ .spec.text }}\n  children:\n")
	c := newCluster(t)
	c.apply(withStatus)
	c.apply(shopApp)
	wantRequests(t, "db is made", c.run(), "create jobs db", "status apps one")
	c.report("db", "{conditions: [{type: Complete, status: 'True'}]}")
	wantRequests(t, "db is ready and has no host yet", c.run(), "status apps one")
	c.wantReady("False Waiting: children[web] waits for .status.host of Job ns/db; children[page] waits for children[web], which has an error")
	if got := c.controllers.tracked["apps"].counts.Parents; got.Failed != 0 {
		t.Errorf("counts %+v, want none that has failed", got)
	}
	if len(c.events) != 0 {
		t.Errorf("Events %v, want none", c.events)
	}
	wantStatus(t, "while it waits", c, map[string]any{"text": "hello"})
	c.quiet("while it waits")

	c.report("db", dbIsReady)
	wantRequests(t, "db has a host", c.run(), "create configmaps web", "create configmaps page", "status apps one")
	wantStatus(t, "with a host", c, map[string]any{"text": "hello", "host": "h"})
	c.report("db", "{conditions: [{type: Complete, status: 'True'}]}")
	wantRequests(t, "the host is gone again: nothing is pruned", c.run(), "status apps one")
	if c.get("configmaps", "web") == nil || c.get("configmaps", "page") == nil {
		t.Error("children were pruned while their templates wait")
	}
	wantStatus(t, "without a host again", c, map[string]any{"text": "hello"})
	c.quiet("while it waits again")
}
