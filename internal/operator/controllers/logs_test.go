package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// A log only appears where its template prints it.
func TestPodLogsAppearOnlyInStatus(t *testing.T) {
	texts := map[string]any{
		"yaml":     "EVIL: b\n- c\n---\nd: e\n",
		"template": `{{ fail "EVIL" }}`,
		"secret":   "password=EVIL\n",
		"long":     strings.Repeat("EVIL", 250),
		"control":  "\x1b[2JEVIL\x00\r\n",
	}
	c := newCluster(t)
	for pod, text := range texts {
		c.Logs.Set("ns/"+pod+"/main", fmt.Sprint(text), nil)
		c.KubectlApply(reconciletest.PodOf(pod, pod, 1))
	}
	var lines []string
	ctx := klog.NewContext(t.Context(), funcr.New(func(prefix, args string) { lines = append(lines, prefix+args) }, funcr.Options{Verbosity: 10}))
	c.KubectlApply(reporters)
	c.KubectlApply(app)
	c.SettleLogs()
	c.WantStatus("hostile logs", reconciletest.LogsStatus(texts))
	for what, edit := range map[string]string{
		"printed where it cannot be": "x: {{ range .related.pods }}{{ (logs .).main | b64dec }}{{ end }}",
		"as a kind of number":        "x: {{ range .related.pods }}{{ (logs .).main | int }}{{ end }}",
		"as a condition":             "conditions:\n{{ range .related.pods }}- {type: {{ (logs .).main }}, status: true}\n{{ end }}",
	} {
		c.KubectlApply(with(t, reporters, reporters[strings.Index(reporters, "      {{- range"):], "      "+strings.ReplaceAll(edit, "\n", "\n      ")+"\n"))
		c.SettleLogs()
		c.Reconciler.Reconcile(ctx, queue.Key{Controller: "apps", Parent: types.NamespacedName{Namespace: "ns", Name: "one"}})
		ready := c.Condition("apps", "one", "Ready")
		said := append([]string{ready, c.Condition("templatecontrollers", "apps", "LogsReadable"), c.Condition("templatecontrollers", "apps", "Ready")}, c.Events...)
		if text := strings.Join(append(append(said, lines...), c.Requests...), "\n"); strings.Contains(text, "EVIL") {
			t.Errorf("%s: it is told:\n%s", what, text)
		}
		if !strings.HasPrefix(ready, "False ") {
			t.Errorf("%s: the condition is %s, want that the template fails", what, ready)
		}
	}
	if len(lines) == 0 || len(c.Events) == 0 {
		t.Errorf("%d lines were logged, and there were %d Events: the test does not see them", len(lines), len(c.Events))
	}
}

// logForbidden is the response to a user without the permission to read the log of Pod a.
func logForbidden(user string) error {
	return refusal(http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(`pods "a" is forbidden: User %q cannot get resource "pods/log" in API group "" in the namespace "ns"`, user))
}

func TestUnreadableLogsAreReportedAndOmitted(t *testing.T) {
	for why, row := range map[string]struct {
		err     error
		account bool
		want    string
	}{
		"a right of templater is missing":   {logForbidden("system:serviceaccount:templater-system:templater"), false, `False Forbidden: cannot read the logs of some Pods: templater is not allowed to get pods/log in all namespaces: add {apiGroups: [""], resources: [pods/log], verbs: [get]} to a ClusterRole labeled rbac.templater.dev/aggregate-to-templater: "true"`},
		"a right of the account is missing": {logForbidden(robot), true, `False Forbidden: cannot read the logs of some Pods: service account team/robot is not allowed to get pods/log in namespace ns: add {apiGroups: [""], resources: [pods/log], verbs: [get]} to a Role in namespace ns bound to it by a RoleBinding`},
		"the node is away":                  {refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, "dial tcp 10.0.0.1: EVIL"), false, "False LogRequestFailed: cannot read the logs of some Pods: container main of Pod ns/a, and 1 more: the kubelet returned no log: the API server returned 500 InternalError"},
		"the node does not answer":          {fmt.Errorf("get EVIL: %w", context.DeadlineExceeded), false, "False LogRequestFailed: cannot read the logs of some Pods: container main of Pod ns/a, and 1 more: the kubelet did not respond within 10s"},
		"the server is busy":                {refusal(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "EVIL"), false, "False LogRequestFailed: cannot read the logs of some Pods: container main of Pod ns/a, and 1 more: the API server returned 429 TooManyRequests"},
		"there is no answer":                {errors.New("EVIL"), false, "False LogRequestFailed: cannot read the logs of some Pods: container main of Pod ns/a, and 1 more: the API server did not respond"},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.Logs.Set("ns/a/main", "text\n", row.err)
			manifest := reporters
			if row.account {
				manifest = with(t, manifest, "kind: App}", "kind: App, namespaces: [ns]}\n  serviceAccountRef: {namespace: team, name: robot}", "    logs:", "    namespaces: [ns]\n    logs:")
			}
			c.KubectlApply(reconciletest.PodOf("a", "1", 1))
			c.KubectlApply(reconciletest.PodOf("b", "1", 1))
			c.KubectlApply(manifest)
			c.KubectlApply(app)
			c.SettleLogs()
			c.WantStatus("without logs", reconciletest.LogsStatus(map[string]any{"a": nil, "b": nil}))
			if got := c.Condition("templatecontrollers", "apps", "LogsReadable"); got != row.want {
				t.Errorf("the condition is\n%s, want\n%s", got, row.want)
			}
			if ready := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(ready, "True ") {
				t.Errorf("the parent is %s, want that it goes on", ready)
			}
			wantRequests(t, "again", c.FetchLogs())
			if strings.Contains(row.want, "Forbidden") {
				return // the denial is cached for a while
			}
			c.Logs.Set("ns/a/main", "text\n", nil) // restart the containers, because the test does not wait until the logs are requested again
			c.ReplaceStatus(reconciletest.PodOf("a", "2", 1))
			c.ReplaceStatus(reconciletest.PodOf("b", "2", 1))
			c.SettleLogs()
			c.Clock.SetTime(c.Clock.Now().Add(recountTime))
			c.SettleLogs()
			if got := c.Condition("templatecontrollers", "apps", "LogsReadable"); got != "no condition LogsReadable" {
				t.Errorf("once they are read, the condition is %s", got)
			}
		})
	}
}

// Pods have more containers than fit in memory.
func TestLogsBeyondMemoryLimitAreReported(t *testing.T) {
	c := newCluster(t)
	containers := make([]string, 1000)
	for i := range containers {
		containers[i] = fmt.Sprintf("{name: c%04d, state: {terminated: {containerID: x}}}", i)
	}
	for i, name := range []string{"a", "b", "c", "d"} {
		c.KubectlApply("{apiVersion: v1, kind: Pod, metadata: {namespace: ns, name: " + name + "}, status: {containerStatuses: [" + strings.Join(containers[250*i:][:250], ", ") + "]}}")
	}
	c.KubectlApply(with(t, reporters, "limitBytes: 1024", "limitBytes: 16384", "logs $pod | toJson", "len (logs $pod)"))
	c.KubectlApply(app)
	c.Run() // all logs are requested together, and fetched one by one
	c.Deliver()
	c.Clock.SetTime(c.Clock.Now().Add(recountTime))
	c.Run()
	const want = "False TooManyLogs: cannot read the logs of some Pods: container c0963 of Pod ns/d, and 36 more: exceeds the memory limit for logs " +
		"(64 MiB in total, 16 MiB per namespace of service accounts): select fewer Pods in spec.related, or set a smaller logs.limitBytes"
	if got := c.Condition("templatecontrollers", "apps", "LogsReadable"); got != want {
		t.Errorf("the condition is\n%s, want\n%s", got, want)
	}
}

// A reconciliation may be running when its TemplateController is deleted.
func TestRunningReconciliationDoesNotLeakLogs(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reporters)
	c.KubectlApply(app)
	c.SettleLogs()
	_, leave := c.controllers.Enter("apps")
	c.RemoveNow(reconciletest.ControllerAt("apps"))
	synced := make(chan error)
	go func() { synced <- c.controllers.Sync(t.Context(), "apps") }()
	eventually(t, "no reconciliation begins", func() bool { return c.controllers.get("apps") == nil })
	c.Logs.Set("ns/a/main", "", errors.New("no"))
	pod, err := object.From(parse(t, reconciletest.PodOf("a", "1", 1)).Object)
	if err != nil {
		t.Fatal(err)
	}
	c.controllers.logs.Begin(keyOf("apps", "one"), "", 0).Logs(pod, request.LogOptions{LimitBytes: 1})
	leave()
	if err := <-synced; err != nil {
		t.Error(err)
	}
	c.controllers.logs.Wait()
	if left := c.controllers.logs.Failures("apps"); len(left) > 0 {
		t.Errorf("left is %v", left)
	}
}

// A suspended or rejected TemplateController reads no logs, so it is unknown whether the last error still applies.
func TestUnreadableLogsAreOnlyReportedWhileTemplatesAreExecuted(t *testing.T) {
	for what, edit := range map[string][]string{
		"suspended": {"spec:\n", "spec:\n  suspend: true\n"},
		"rejected":  {"resyncPeriod: 0s", "resyncPeriod: often"}, // with it, no earlier revision runs either
	} {
		t.Run(what, func(t *testing.T) {
			c := newCluster(t)
			c.Logs.Set("ns/a/main", "", logForbidden("templater"))
			c.KubectlApply(reconciletest.PodOf("a", "1", 1))
			c.KubectlApply(reporters)
			c.KubectlApply(app)
			c.SettleLogs()
			c.Advance(recountTime)
			c.SettleLogs()
			want := func(when, prefix string) {
				t.Helper()
				if got := c.Condition("templatecontrollers", "apps", "LogsReadable"); !strings.HasPrefix(got, prefix) {
					t.Errorf("%s, the condition is %s, want %s", when, got, prefix)
				}
			}
			want("before it is "+what, "False Forbidden: ")
			c.KubectlApply(with(t, reporters, edit...))
			c.SettleLogs()
			want("while it is "+what, "no condition LogsReadable")
			c.WantQuiet("while it is " + what)
			c.KubectlApply(reporters)
			c.SettleLogs()
			want("after it was "+what, "False Forbidden: ")
		})
	}
}

// Logs are not retried for suspended or rejected TemplateControllers: podlogs checks that.
func TestLogsAreNotRetriedWhileSuspendedOrRejected(t *testing.T) {
	const broken, finalizer = "    template: |\n      {{ nothing }}\n", "spec:\n  finalize: {order: Reverse}\n"
	for what, row := range map[string]struct {
		manifest string
		edit     []string
	}{
		"suspended":                             {reporters, []string{"spec:\n", "spec:\n  suspend: true\n"}},
		"rejected":                              {reporters, []string{"    template: |\n", broken}},
		"rejected, and parents have finalizers": {with(t, reporters, "spec:\n", finalizer), []string{"    template: |\n", broken}},
	} {
		t.Run(what, func(t *testing.T) {
			c := begun(t, row.manifest, app)
			if !c.controllers.runs("apps") {
				t.Errorf("before it is %s, it does not run", what)
			}
			c.KubectlApply(with(t, row.manifest, row.edit...))
			c.loseRevisions()
			c.Run()
			if c.controllers.runs("apps") {
				t.Errorf("while it is %s, it runs", what)
			}
			c.KubectlApply(row.manifest)
			c.Run()
			if !c.controllers.runs("apps") {
				t.Errorf("after it was %s, it does not run", what)
			}
		})
	}
}
