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

const dbIsReady = "{host: h, conditions: [{type: Complete, status: 'True'}]}"

const dbIsNot = "{host: h, startTime: x}"

const webWaits = "False Waiting: children[web] waits for children[db]: Job ns/db: "

const pageWaits = "; children[page] waits for children[web]"

const dbIsRunning = "running, 0 of 1 Pods have succeeded"

// open returns a cluster with a shop whose db is ready, so that all children exist.
func open(t *testing.T, controller string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.KubectlApply(controller)
	c.KubectlApply(shopApp)
	c.Run()
	c.SetJobStatus("db", dbIsReady)
	c.Run()
	c.WantQuiet("all is there")
	if got, want := c.Condition("apps", "one", "Ready"), "True Ready: all children are ready: 3"; got != want {
		t.Fatalf("ready condition %q, want %q", got, want)
	}
	return c
}

func TestDependentsStartWhenDependenciesAreReady(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(shop)
	c.KubectlApply(shopApp)
	wantRequests(t, "first reconciliation", c.Run(), "create jobs db", "status apps one")
	c.WantReady(webWaits + "not started yet" + pageWaits)
	c.WantQuiet("it waits")
	c.SetJobStatus("db", dbIsNot)
	wantRequests(t, "it has started", c.Run(), "status apps one")
	c.WantReady(webWaits + dbIsRunning + pageWaits)
	result, again := c.Reconcile("apps", "one")
	wantRequests(t, "another reconciliation", again)
	if result.Outcome != record.Waiting {
		t.Errorf("the reconciliation %v, want one that waits", result.Outcome)
	}
	if got := c.parentCounts(); got != "total 1, ready 0, failed 0" {
		t.Errorf("counts: %s", got)
	}
	c.SetJobStatus("db", dbIsReady)
	wantRequests(t, "it is ready", c.Run(), "create configmaps web", "create configmaps page", "status apps one")
	c.WantReady("True Ready: all children are ready: 3")
	c.WantQuiet("all is there")
	if diff := cmp.Diff([]string(nil), c.Events); diff != "" {
		t.Errorf("Events, though nothing was wrong:\n%s", diff)
	}
}

func TestFlappingDependencyBlocksChanges(t *testing.T) {
	c := open(t, shop)
	c.SetJobStatus("db", dbIsNot)
	wantRequests(t, "it is not ready any more", c.Run(), "status apps one")
	c.WantReady("False Progressing: 2 of 3 children are ready: Job ns/db: " + dbIsRunning)
	c.KubectlEdit(configMap("web"), func(o *unstructured.Unstructured) { o.Object["data"].(map[string]any)["text"] = "edited" })
	wantRequests(t, "what others change is undone all the same", c.Run(), "update configmaps web")
	c.KubectlEdit(configMap("page"), func(o *unstructured.Unstructured) { delete(o.GetLabels(), "templater.dev/child") })
	c.WantQuiet("page is as it should be")
	c.KubectlApply(with(t, shopApp, "text: hello", "text: bye"))
	wantRequests(t, "a change has to wait", c.Run(), "status apps one")
	c.WantReady(webWaits + dbIsRunning)
	if got := c.textOf("web"); got != "hello" {
		t.Errorf("the text is %q", got)
	}
	c.RemoveNow(configMap("page"))
	wantRequests(t, "so does what is gone", c.Run(), "status apps one")
	c.WantReady(webWaits + dbIsRunning + pageWaits)
	c.WantQuiet("it waits")
	c.SetJobStatus("db", dbIsReady)
	wantRequests(t, "it is ready again", c.Run(), "update configmaps web", "create configmaps page", "status apps one")
	if got := c.textOf("web"); got != "bye" {
		t.Errorf("the text is %q", got)
	}
	c.WantQuiet("all is there")
}

func TestDeletedDependencyIsRecreatedFirst(t *testing.T) {
	c := open(t, shop)
	c.Remove(locationOf(c.Find("jobs", "db")))
	c.Remove(configMap("web"))
	c.RemoveNow(configMap("page"))
	wantRequests(t, "all are gone", c.Run(), "create jobs db", "status apps one")
	c.WantReady(webWaits + "not started yet" + pageWaits)
	c.SetJobStatus("db", dbIsReady)
	wantRequests(t, "it is ready again", c.Run(), "create configmaps web", "create configmaps page", "status apps one")

	c.RemoveNow(locationOf(c.Find("jobs", "db")))
	wantRequests(t, "it alone is gone, and the others cannot even be rendered", c.Run(), "create jobs db", "status apps one")
	if c.Find("configmaps", "web") == nil || c.Find("configmaps", "page") == nil {
		t.Error("what waits was pruned")
	}
	c.SetJobStatus("db", dbIsReady)
	wantRequests(t, "it is ready once more", c.Run(), "status apps one")
	c.WantQuiet("all is there")
}

func TestDependentsWaitForRecreatedDependency(t *testing.T) {
	c := open(t, with(t, shop, "  - name: db\n", "  - name: db\n    updateStrategy: {type: Recreate}\n"))
	c.KubectlApply(with(t, shopApp, "db: one", "db: two", "hello", "bye"))
	wantRequests(t, "it is out of date", c.Run(), "delete-foreground jobs db", "status apps one")
	c.WantReady(webWaits + "being deleted")
	c.WantQuiet("it is not gone yet")
	c.RemoveNow(locationOf(c.Find("jobs", "db")))
	wantRequests(t, "it is gone", c.Run(), "create jobs db", "status apps one")
	c.WantReady(webWaits + "not started yet")
	c.SetJobStatus("db", dbIsReady)
	wantRequests(t, "it is ready", c.Run(), "update configmaps web", "status apps one")
	c.WantQuiet("all is there")
}

func TestReadyWhenUnblocksDependents(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, shop, "  - name: db\n", "  - name: db\n    readyWhen: eq .object.metadata.labels.version .object.status.version\n"))
	c.KubectlApply(shopApp)
	wantRequests(t, "first reconciliation", c.Run(), "create jobs db", "status apps one")
	c.WantReady(webWaits + "readyWhen is not true yet: not started yet" + pageWaits)
	c.SetJobStatus("db", dbIsReady)
	wantRequests(t, "it is complete", c.Run(), "status apps one")
	c.SetJobStatus("db", "{host: h, version: one}")
	wantRequests(t, "it is ready", c.Run(), "create configmaps web", "create configmaps page", "status apps one")
	c.KubectlApply(with(t, shopApp, "db: one", "db: two", "hello", "bye"))
	wantRequests(t, "it is changed first", c.Run(), "update jobs db", "status apps one")
	c.WantReady(webWaits + "readyWhen is not true yet: not started yet")
	c.SetJobStatus("db", "{host: h, version: two}")
	wantRequests(t, "and then others", c.Run(), "update configmaps web", "status apps one")
	c.KubectlApply(with(t, shop, "  - name: db\n", "  - name: db\n    readyWhen: .object.status.version\n"))
	wantRequests(t, "readyWhen is broken", c.Run(), "status apps one")
	c.WantReady(`False TemplateError: children[db].readyWhen:1:1: .object.status.version is a string, but must be a boolean; compare it, as in eq .object.status.phase "Bound"`)
	c.WantQuiet("it waits for the author")
}

func TestReadyDependenciesApplyInOneReconciliation(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, shop, `(named "db" .children.db).status.host`, `(named "db" .children.db).kind`, "apiVersion: batch/v1\n      kind: Job", "apiVersion: v1\n      kind: ConfigMap"))
	c.KubectlApply(shopApp)
	wantRequests(t, "first reconciliations", c.Run(), "create configmaps db", "create configmaps web", "create configmaps page", "status apps one")
	c.WantReady("True Ready: all children are ready: 3")
	c.WantQuiet("all is there")
	c.KubectlApply(with(t, shopApp, "text: hello, db: one", "text: bye, db: two"))
	wantRequests(t, "a change", c.Run(), "update configmaps db", "update configmaps web", "status apps one")
	c.WantQuiet("all is up to date")
}

func TestFailedDependencyBlocksDependents(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(shop)
	c.KubectlApply(shopApp)
	c.Run()
	c.SetJobStatus("db", "{conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded}]}")
	wantRequests(t, "it has failed", c.Run(), "status apps one")
	c.WantReady("False ChildFailing: 1 of 2 children have failed: Job ns/db: failed (BackoffLimitExceeded)")
	c.WantQuiet("nothing is made")
}

func TestDependencyTemplateErrorBlocksDependents(t *testing.T) {
	for template, want := range map[string]string{
		`{{ fail "no" }}`:            "False TemplateFailed: children[db]:1:4: no",
		`{{ wait "not yet" }}`:       "False Waiting: not yet; children[web] waits for children[db], which has an error; children[page] waits for children[web]",
		`{kind: Job, a: {}}`:         "False TemplateError: children[db]:1:1: the object has no apiVersion, or it is not a string",
		`{{ if .spec.no }}{{ end }}`: "False TemplateError: children[web]:",
	} {
		t.Run(template, func(t *testing.T) {
			before, _, _ := strings.Cut(shop, "      apiVersion: batch/v1")
			c := newCluster(t)
			c.KubectlApply(before + "      " + template + "\n")
			c.KubectlApply(shopApp)
			wantRequests(t, template, c.Run(), "status apps one")
			if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, want) {
				t.Errorf("ready condition\n%s, want\n%s", got, want)
			}
			c.WantQuiet(template)
		})
	}
}

// TestErrorsOfBlockedTemplatesAreReportedInOrder checks that an error is only reported when the child template is unblocked, even if the error
// is unrelated to its dependencies.
func TestErrorsOfBlockedTemplatesAreReportedInOrder(t *testing.T) {
	for fault, want := range map[string]string{
		`fail "no"`:                     "False TemplateFailed: children[web]:4:15: no",
		`wait "not yet"`:                "False Waiting: not yet; children[page] waits for children[web], which has an error",
		`.spec.none`:                    "False TemplateError: children[web]:4:15: .spec.none has no value; set it, or use default, required or if",
		"1 }}}\n      status: {a: {{ 1": "False InvalidChild: children[web]:1: a template must not set status: remove it",
	} {
		t.Run(fault, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(with(t, shop, `(named "db" .children.db).status.host`, fault, "  - name: web\n", "  - name: web\n    dependsOn: [db]\n", ", text: {{ .spec.text }}", ""))
			c.KubectlApply(shopApp)
			wantRequests(t, fault, c.Run(), "create jobs db", "status apps one")
			c.WantReady(webWaits + "not started yet" + pageWaits)
			c.SetJobStatus("db", dbIsReady)
			wantRequests(t, fault+", in its turn", c.Run(), "status apps one")
			c.WantReady(want)
			c.WantQuiet(fault)
		})
	}
}

// TestBudgetErrorOfBlockedTemplateIsReported checks that exceeding the budget is reported even for a blocked child template, because nothing
// else can be rendered then.
func TestBudgetErrorOfBlockedTemplateIsReported(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, shop, `(named "db" .children.db).status.host`, "range 1000000000 }}{{ end }}{{ 1", "  - name: web\n", "  - name: web\n    dependsOn: [db]\n"))
	c.KubectlApply(shopApp)
	c.Run()
	if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False TemplateError: children[web]:4:") {
		t.Errorf("ready condition %q", got)
	}
}

func TestPruningWhileTemplatesAreBlocked(t *testing.T) {
	more := with(t, shop, "metadata: {name: page}\n", "metadata: {name: page}\n      {{ range .spec.pages }}\n      ---\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ . }}}\n      {{ end }}\n"+
		"  - name: lone\n    template: |\n      {{ range .spec.lone }}\n      ---\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ . }}}\n      {{ end }}\n",
		"metadata: {name: db, labels: {version: {{ .spec.db }}}}\n", "metadata: {name: db, labels: {version: {{ .spec.db }}}}\n      {{ range .spec.dbs }}\n      ---\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ . }}}\n      {{ end }}\n")
	for why, row := range map[string]struct {
		status string // status of the Job, which is not ready
		want   []string
	}{
		"all can be rendered: what waits keeps its own":                                     {dbIsNot, []string{"delete configmaps d", "delete configmaps l"}},
		"web cannot be rendered: only what it waits for goes on, or it might wait for ever": {"{startTime: x}", []string{"delete configmaps d"}},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(more)
			c.KubectlApply(with(t, shopApp, "db: one", "db: one, pages: [p], lone: [l], dbs: [d]"))
			c.Run()
			c.SetJobStatus("db", dbIsReady)
			c.Run()
			c.WantQuiet("all is there")
			c.SetJobStatus("db", row.status)
			c.Run()
			c.KubectlApply(shopApp)
			wantRequests(t, "three are no longer rendered", withoutStatus(c.Run()), row.want...)
			c.WantQuiet("it waits")
			c.SetJobStatus("db", dbIsReady)
			c.Run()
			c.WantReady("True Ready: all children are ready: 3")
			for _, name := range []string{"p", "l", "d"} {
				if c.Find("configmaps", name) != nil {
					t.Errorf("%s is still there", name)
				}
			}
		})
	}
}

// TestObjectMovedBetweenBlockedTemplatesIsKept checks that an object is kept if an unrendered child template may desire it, even if another
// unrendered one depends on the child template that created it.
func TestObjectMovedBetweenBlockedTemplatesIsKept(t *testing.T) {
	const data = "      ---\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: data}\n"
	other := "  - name: x\n    template: |\n      apiVersion: batch/v1\n      kind: Job\n      metadata: {name: x, labels: {version: {{ .spec.db }}}}\n" +
		"  - name: b\n    template: |\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: b}\n      data: {x: {{ (named \"x\" .children.x).status.host }}}\n"
	c := newCluster(t)
	c.KubectlApply(shop + data + other)
	c.KubectlApply(shopApp)
	c.Run()
	for _, job := range []string{"db", "x"} {
		c.SetJobStatus(job, dbIsReady)
	}
	c.Run()
	c.WantQuiet("all is there")
	for _, job := range []string{"db", "x"} {
		c.SetJobStatus(job, "{startTime: x}")
	}
	c.Run()
	c.KubectlApply(shop + other + data)
	wantRequests(t, "data moves from db to b", withoutStatus(c.Run()))
	c.WantQuiet("it waits")
	for _, job := range []string{"db", "x"} {
		c.SetJobStatus(job, dbIsReady)
	}
	c.Settle()
	if got := c.Find("configmaps", "data").GetLabels()[v1.LabelChild]; got != "b" {
		t.Errorf("it belongs to %s", got)
	}
}

// TestBlockedTemplatesFollowUpdateStrategy checks that a blocked child template does not affect objects that its strategy would not change
// anyway.
func TestBlockedTemplatesFollowUpdateStrategy(t *testing.T) {
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
			c.SetJobStatus("db", dbIsNot)
			c.Run()
			c.KubectlApply(with(t, shopApp, "hello", "bye"))
			wantRequests(t, "it waits", withoutStatus(c.Run()))
			c.WantReady(row.waiting)
			c.WantQuiet("it waits")
			c.SetJobStatus("db", dbIsReady)
			wantRequests(t, "it is ready", withoutStatus(c.Run()), row.then...)
			if got, _, _ := strings.Cut(c.Condition("apps", "one", "Ready"), ";"); got != row.ready {
				t.Errorf("ready condition %q, want %q", got, row.ready)
			}
		})
	}
}

// TestReverseOrderDeletesDependentsFirst tests order: Reverse in spec.finalize.
func TestReverseOrderDeletesDependentsFirst(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withSpec(t, shop, "finalize: {order: Reverse}"))
	c.KubectlApply(shopApp)
	c.Settle()
	c.SetJobStatus("db", dbIsReady)
	c.Settle()
	c.WantReady("True Ready: all children are ready: 3")
	for name, want := range map[string]string{"web": "1", "page": "2"} {
		if got := c.Find("configmaps", name).GetAnnotations()["templater.dev/order"]; got != want {
			t.Errorf("%s has the level %q, want %s", name, got, want)
		}
	}
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	got := slices.DeleteFunc(c.Settle(), func(request string) bool { return strings.HasPrefix(request, "status ") })
	wantRequests(t, "the parent is deleted", got, "delete-foreground configmaps page", "delete-foreground configmaps web", "delete-foreground jobs db", releaseParent)
}

func TestRenamedBlockedTemplateKeepsObjects(t *testing.T) {
	for why, row := range map[string]struct {
		status string // status of the Job, which is not ready
		writes []string
	}{
		"it can be rendered":    {dbIsNot, []string{"update configmaps web"}},
		"it cannot be rendered": {"{startTime: x}", nil},
	} {
		t.Run(why, func(t *testing.T) {
			c := open(t, shop)
			c.SetJobStatus("db", row.status)
			c.Run()
			c.KubectlApply(with(t, shop, "  - name: web\n", "  - name: front\n", "dependsOn: [web]", "dependsOn: [front]"))
			wantRequests(t, "renamed", withoutStatus(c.Run()), row.writes...)
			c.WantQuiet("it waits")
			c.SetJobStatus("db", dbIsReady)
			c.Run()
			c.WantReady("True Ready: all children are ready: 3")
			if got := c.Find("configmaps", "web").GetLabels()["templater.dev/child"]; got != "front" {
				t.Errorf("it belongs to %s", got)
			}
		})
	}
}

// withoutStatus removes writes of the parent's status.
func withoutStatus(requests []string) []string {
	out := []string{}
	for _, request := range requests {
		if !strings.HasPrefix(request, "status ") {
			out = append(out, request)
		}
	}
	return out
}

// TestTemplateWaitsForFieldOfAnotherChild checks that it waits even if that child is ready.
func TestTemplateWaitsForFieldOfAnotherChild(t *testing.T) {
	withStatus := with(t, shop, "  children:\n", "  status:\n    template: |\n      host: {{ (first .children.db).status.host }}\n      text: {{ .spec.text }}\n  children:\n")
	c := newCluster(t)
	c.KubectlApply(withStatus)
	c.KubectlApply(shopApp)
	wantRequests(t, "db is made", c.Run(), "create jobs db", "status apps one")
	c.SetJobStatus("db", "{conditions: [{type: Complete, status: 'True'}]}")
	wantRequests(t, "db is ready and has no host yet", c.Run(), "status apps one")
	c.WantReady("False Waiting: children[web] waits for .status.host of Job ns/db; children[page] waits for children[web], which has an error")
	if got := c.controllers.tracked["apps"].counts.Parents; got.Failed != 0 {
		t.Errorf("counts %+v, want none that has failed", got)
	}
	if len(c.Events) != 0 {
		t.Errorf("Events %v, want none", c.Events)
	}
	c.WantStatus("while it waits", map[string]any{"text": "hello"})
	c.WantQuiet("while it waits")

	c.SetJobStatus("db", dbIsReady)
	wantRequests(t, "db has a host", c.Run(), "create configmaps web", "create configmaps page", "status apps one")
	c.WantStatus("with a host", map[string]any{"text": "hello", "host": "h"})
	c.SetJobStatus("db", "{conditions: [{type: Complete, status: 'True'}]}")
	wantRequests(t, "the host is gone again: nothing is pruned", c.Run(), "status apps one")
	if c.Find("configmaps", "web") == nil || c.Find("configmaps", "page") == nil {
		t.Error("children were pruned while their templates wait")
	}
	c.WantStatus("without a host again", map[string]any{"text": "hello"})
	c.WantQuiet("while it waits again")
}
