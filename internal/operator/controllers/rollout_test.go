package controllers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/revision"
)

// edition returns apps with a text in each child, and more fields of the spec.
func edition(t *testing.T, text, more string) string {
	t.Helper()
	return withSpec(t, with(t, apps, "{text: {{ $.spec.text }}", "{edition: "+text+", text: {{ $.spec.text }}"), "revisionHistoryLimit: 3\n  "+more)
}

// fleet returns a cluster with n parents, p0 to pN, each with one child.
func fleet(t *testing.T, manifest string, n int) *cluster {
	t.Helper()
	c := newCluster(t)
	c.KubectlApply(manifest)
	for i := range n {
		c.PutWithUID(newApp(withName(fmt.Sprint("p", i)), withChildren(fmt.Sprint("c", i))), types.UID(fmt.Sprint("uid-", i)))
	}
	c.Settle()
	return c
}

// editions returns how many children have each edition.
func (c *cluster) editions() string {
	counts := map[string]int{}
	for at, o := range c.Objects {
		if at.Resource.Resource == "configmaps" {
			text, _, _ := unstructured.NestedString(o.Object, "data", "edition")
			counts[text]++
		}
	}
	return fmt.Sprint(counts)
}

// progress returns the Progressing condition, and the revisions in the status.
func (c *cluster) progress() (condition, current, update string) {
	state := c.Find("templatecontrollers", "apps").Object
	current, _, _ = unstructured.NestedString(state, "status", "currentRevision")
	update, _, _ = unstructured.NestedString(state, "status", "updateRevision")
	return c.Condition("templatecontrollers", "apps", "Progressing"), current, update
}

// advance sets the clock forward, and settles.
func (c *cluster) advance(by time.Duration) {
	c.Clock.SetTime(c.Clock.Now().Add(by))
	c.controllers.queue.Add("apps")
	c.Run()
	c.Deliver()
	c.Run()
	c.Deliver()
}

const staged = "rollout: {steps: [1, 50%], interval: 1h}"

func TestEditWithoutRolloutReachesAllParents(t *testing.T) {
	c := fleet(t, edition(t, "one", ""), 4)
	condition, current, update := c.progress()
	if c.editions() != "map[one:4]" || current == "" || current != update || condition != "no condition Progressing" {
		t.Fatalf("%s, %s, current %q, update %q", c.editions(), condition, current, update)
	}
	c.KubectlApply(edition(t, "two", ""))
	c.Settle()
	_, next, update := c.progress()
	if c.editions() != "map[two:4]" || next != update || next == current {
		t.Errorf("%s, current %q, update %q, before %q", c.editions(), next, update, current)
	}
	if got, want := c.parentCounts(), "total 4, ready 4, failed 0"; got != want {
		t.Errorf("counts %s, want %s", got, want)
	}
	c.Revisions = nil
	wantRequests(t, "nothing more", c.Settle())
	c.start()
	wantRequests(t, "after a restart", c.Settle())
	if slices.ContainsFunc(c.Revisions, func(r string) bool { return !strings.HasPrefix(r, "list ") }) {
		t.Errorf("without an edit, revisions are requested: %q", c.Revisions)
	}
}

func TestRolloutGoesStepByStep(t *testing.T) {
	c := fleet(t, edition(t, "one", staged), 4)
	c.KubectlApply(edition(t, "two", staged))
	c.Requests = nil
	for _, step := range []struct {
		after                time.Duration
		editions, condition  string
		currentIs, updateIs2 bool
	}{
		{0, "map[one:3 two:1]", "True RollingOut: step 1 of 3: its parents are ready; the next step starts after spec.rollout.interval", true, true},
		{time.Hour - time.Minute, "map[one:3 two:1]", "True RollingOut: step 1 of 3: its parents are ready; the next step starts after spec.rollout.interval", true, true},
		{time.Minute, "map[one:2 two:2]", "True RollingOut: step 2 of 3: its parents are ready; the next step starts after spec.rollout.interval", true, true},
		{time.Hour, "map[two:4]", "True RolloutComplete: all parents have the revision of the spec", false, true},
	} {
		for range 6 {
			c.advance(0)
		}
		c.advance(step.after)
		for range 6 {
			c.advance(2 * time.Second)
		}
		condition, current, update := c.progress()
		if c.editions() != step.editions || condition != step.condition || (current != update) != step.currentIs {
			t.Errorf("after %s: %s, %q, current %q, update %q; want %s, %q", step.after, c.editions(), condition, current, update, step.editions, step.condition)
		}
	}
	updates := 0
	for _, r := range c.Requests {
		if strings.HasPrefix(r, "update configmaps") {
			updates++
		}
	}
	if updates != 4 {
		t.Errorf("%d updates of 4 children: %q", updates, c.Requests)
	}
}

// Steps cost no more requests for parents and children than a change of all at once, and a write of the TemplateRevision each.
func TestStepsCostNoMoreRequests(t *testing.T) {
	const parents = 200
	for _, row := range []struct {
		why, rollout string
		revisions    int
	}{
		{"all at once", "", 1},
		{"five steps", "rollout: {steps: [20%, 40%, 60%, 80%]}", 7},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := fleet(t, edition(t, "one", row.rollout), parents)
			c.KubectlApply(edition(t, "two", row.rollout))
			c.Requests, c.Revisions = nil, nil
			for range 60 {
				c.advance(2 * time.Second)
			}
			others := slices.DeleteFunc(c.Requests, func(r string) bool { return strings.Contains(r, "templatecontrollers") })
			if got, want := c.editions(), fmt.Sprintf("map[two:%d]", parents); got != want || len(others) != parents || len(c.Revisions) != row.revisions {
				t.Errorf("%s with %d requests for parents and children, want %s with %d; for revisions: %q, want %d", got, len(others), want, parents, c.Revisions, row.revisions)
			}
		})
	}
}

func TestRolloutSurvivesRestart(t *testing.T) {
	c := fleet(t, edition(t, "one", staged), 4)
	c.KubectlApply(edition(t, "two", staged))
	for range 8 {
		c.advance(0)
	}
	before := c.editions()
	c.start()
	c.Requests = nil
	for range 8 {
		c.advance(0)
	}
	if c.editions() != before || len(c.Requests) > 0 {
		t.Errorf("%s, before %s; requests %q", c.editions(), before, c.Requests)
	}
	c.KubectlDelete(request.Location{Resource: one.Resource, Namespace: "ns", Name: "p0"}, metav1.DeletePropagationBackground)
	c.PutWithUID(newApp(withName("p9"), withChildren("c9")), "uid-9")
	for range 60 {
		c.advance(10 * time.Minute)
	}
	if got, want := c.editions(), "map[two:4]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestRejectedSpecKeepsRevisionAfterRestart(t *testing.T) {
	c := fleet(t, edition(t, "one", ""), 2)
	c.KubectlApply(invalid(t, edition(t, "two", "")))
	for _, restarted := range []bool{false, true} {
		if restarted {
			c.start()
		}
		c.Settle()
		c.PutWithUID(newApp(withName(fmt.Sprint("new", restarted)), withChildren(fmt.Sprint("n", restarted))), types.UID(fmt.Sprint("uid-new", restarted)))
		c.Deliver()
		c.Settle()
		want := map[bool]string{false: "map[one:3]", true: "map[one:4]"}[restarted]
		if got := c.editions(); got != want {
			t.Errorf("restarted %t: %s, want %s", restarted, got, want)
		}
		if got := c.Condition("templatecontrollers", "apps", "Accepted"); !strings.HasPrefix(got, "False ") || !strings.HasSuffix(got, "; the last accepted revision keeps working") {
			t.Errorf("restarted %t: Accepted is %q", restarted, got)
		}
	}
	c.KubectlApply(edition(t, "three", ""))
	c.Settle()
	if got, want := c.editions(), "map[three:4]"; got != want {
		t.Errorf("corrected: %s, want %s", got, want)
	}
}

func TestOnlyRunningRevisionsStayCompiled(t *testing.T) {
	c := fleet(t, edition(t, "v0", staged), 3)
	for i := range 5 {
		c.KubectlApply(edition(t, fmt.Sprint("v", i+1), staged))
		c.advance(0)
		c.KubectlApply(invalid(t, edition(t, fmt.Sprint("invalid", i), staged)))
		c.advance(0)
		if n := len(c.controllers.tracked["apps"].revised.known); n > 2 {
			t.Errorf("after %d edits: %d earlier revisions are compiled, want at most 2", 2*i+2, n)
		}
	}
	c.KubectlApply(edition(t, "last", ""))
	for range 8 {
		c.advance(0)
	}
	if n := len(c.controllers.tracked["apps"].revised.known); n > 0 || c.editions() != "map[last:3]" {
		t.Errorf("finally: %d earlier revisions are compiled, children %s", n, c.editions())
	}
}

func TestHistoryIsLimited(t *testing.T) {
	c := fleet(t, edition(t, "e0", ""), 1)
	for i := range 6 {
		c.KubectlApply(edition(t, fmt.Sprint("e", i+1), ""))
		c.Settle()
	}
	stored := func() (numbers []string) {
		for at, o := range c.Objects {
			if at.Resource == v1.RevisionResource {
				numbers = append(numbers, o.GetLabels()[v1.LabelRevision])
			}
		}
		slices.Sort(numbers)
		return numbers
	}
	if got, want := fmt.Sprint(stored()), "[5 6 7]"; got != want {
		t.Errorf("revisions %s, want %s", got, want)
	}
	c.KubectlApply(edition(t, "e5", "")) // as before
	c.Settle()
	if got, want := fmt.Sprint(stored()), "[5 7 8]"; got != want {
		t.Errorf("after going back: revisions %s, want %s", got, want)
	}
	c.RemoveNow(appsController)
	c.Settle()
	if left := stored(); len(left) > 0 {
		t.Errorf("after the deletion of the TemplateController: revisions %s", left)
	}
}

// The TemplateRevision of an earlier revision has the state of its own rollout.
func TestEarlierRevisionIsRolledOutAgain(t *testing.T) {
	c := fleet(t, edition(t, "one", staged), 4)
	for _, next := range []string{"two", "three", "two", "one"} {
		c.KubectlApply(edition(t, next, staged))
		for range 8 {
			c.advance(0)
		}
		c.start()
		for range 40 {
			c.advance(10 * time.Minute)
		}
		condition, _, _ := c.progress()
		if got, want := c.editions(), "map["+next+":4]"; got != want || !strings.HasPrefix(condition, "True RolloutComplete: ") {
			t.Errorf("%s, want %s; %s", got, want, condition)
		}
	}
}

func TestForgedRevisionIsNotUsed(t *testing.T) {
	c := fleet(t, edition(t, "one", staged), 4)
	c.KubectlApply(edition(t, "two", staged))
	for range 8 {
		c.advance(0)
	}
	before := c.editions()
	for at, o := range c.Objects {
		if at.Resource == v1.RevisionResource && o.GetLabels()[v1.LabelRevision] == "1" {
			c.KubectlEdit(at, func(o *unstructured.Unstructured) { o.Object["revision"] = int64(7) })
		}
	}
	c.start()
	for range 30 {
		c.advance(10 * time.Minute)
	}
	condition, _, _ := c.progress()
	if got := c.editions(); got != before || !strings.HasPrefix(condition, "False RevisionNotFound: ") {
		t.Errorf("%s, want %s; %s", got, before, condition)
	}
}

func TestSupersededRevisionIsLeftAlone(t *testing.T) {
	c := fleet(t, edition(t, "one", staged), 4)
	c.KubectlApply(edition(t, "two", staged))
	for range 8 {
		c.advance(0)
	}
	c.KubectlApply(edition(t, "three", strings.Replace(staged, "steps", "paused: true, steps", 1)))
	for range 8 {
		c.advance(0)
	}
	if got, want := c.editions(), "map[one:3 two:1]"; got != want {
		t.Errorf("paused: %s, want %s", got, want)
	}
	c.KubectlApply(edition(t, "three", staged))
	for range 8 {
		c.advance(0)
	}
	if got, want := c.editions(), "map[one:3 three:1]"; got != want {
		t.Errorf("first step: %s, want %s", got, want)
	}
	c.KubectlApply(edition(t, "one", staged)) // back to the revision of most parents
	for range 8 {
		c.advance(0)
	}
	if got, want := c.editions(), "map[one:4]"; got != want {
		t.Errorf("back: %s, want %s", got, want)
	}
}

// tried is a fleet whose revisions are tried with dry runs.
func tried(t *testing.T, manifest string, n int) *cluster {
	t.Helper()
	c := newCluster(t)
	c.tries = true
	c.start()
	c.KubectlApply(manifest)
	for i := range n {
		c.PutWithUID(newApp(withName(fmt.Sprint("p", i)), withChildren(fmt.Sprint("c", i))), types.UID(fmt.Sprint("uid-", i)))
	}
	c.Settle()
	return c
}

func TestRefusedRevisionIsNotRolledOut(t *testing.T) {
	for _, row := range []struct {
		why, more string
		refuse    map[string]error
		editions  string
		condition string // prefix
	}{
		{"nothing is refused", "", nil, "map[two:5]", "no condition Progressing"},
		{"a sampled parent is refused", "", map[string]error{"dry-run update configmaps c1": errInvalid}, "map[one:5]",
			"False PreflightFailed: the new revision is not rolled out, because the API server rejects in a dry run: update ConfigMap ns/c1 for App ns/p1: "},
		{"with preflight Warn", "rollout: {preflight: Warn}", map[string]error{"dry-run update configmaps c1": errInvalid}, "map[two:5]", "True RolloutComplete"},
		{"a parent that is not sampled would be refused", "", map[string]error{"dry-run update configmaps c4": errInvalid}, "map[two:5]", "no condition Progressing"},
		{"the server does not answer", "", map[string]error{"dry-run update configmaps c1": errServer}, "map[one:5]", "True PreflightRunning: trying the new revision with dry runs; not checked yet: "},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := tried(t, edition(t, "one", row.more), 5)
			for r, err := range row.refuse {
				c.Refuse[r] = err
			}
			c.KubectlApply(edition(t, "two", row.more))
			c.Requests = nil
			for range 8 {
				c.advance(2 * time.Second)
			}
			if condition, _, _ := c.progress(); c.editions() != row.editions || !strings.HasPrefix(condition, row.condition) {
				t.Errorf("%s, %q; want %s, %q", c.editions(), condition, row.editions, row.condition)
			}
			if ready := c.Condition("templatecontrollers", "apps", "Ready"); strings.HasPrefix(ready, "False PreflightFailed") != strings.HasPrefix(row.condition, "False PreflightFailed") {
				t.Errorf("Ready is %q", ready)
			}
			for _, r := range c.Requests {
				if row.editions == "map[one:5]" && !strings.HasPrefix(r, "dry-run ") {
					t.Errorf("request %q", r)
				}
			}
			clear(c.Refuse)
			c.KubectlApply(edition(t, "three", row.more))
			for range 8 {
				c.advance(time.Minute)
			}
			if got, want := c.editions(), "map[three:5]"; got != want {
				t.Errorf("corrected: %s, want %s", got, want)
			}
		})
	}
}

func TestPreflightIsRepeatedUntilAnswered(t *testing.T) {
	c := tried(t, edition(t, "one", ""), 3)
	c.Refuse["dry-run update configmaps c0"] = errServer
	c.KubectlApply(edition(t, "two", ""))
	for range 4 {
		c.advance(time.Second)
	}
	if got, want := c.editions(), "map[one:3]"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	clear(c.Refuse)
	for range 8 {
		c.advance(time.Minute)
	}
	if got, want := c.editions(), "map[two:3]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestFailingStatusWriteIsRetriedWithBackoff(t *testing.T) {
	for name, more := range map[string]string{"without a rollout": "", "with a rollout": staged} {
		t.Run(name, func(t *testing.T) {
			c := fleet(t, edition(t, "one", more), 2)
			c.Refuse["status templatecontrollers apps"] = errServer
			c.KubectlApply(edition(t, "two", more))
			c.Revisions = nil
			c.Run() // does not end if a failed sync is repeated immediately
			if writes := len(c.Revisions); writes > 4 {
				t.Errorf("%d requests for revisions: %q", writes, c.Revisions)
			}
			clear(c.Refuse)
			for range 8 {
				c.advance(time.Minute)
			}
			if _, current, update := c.progress(); current == "" || update == "" {
				t.Errorf("current %q, update %q", current, update)
			}
			if got := c.editions(); !strings.Contains(got, "two:") {
				t.Errorf("after the status could be written: %s", got)
			}
		})
	}
}

// A sync that is due earlier, such as for counts, replaces the one that repeats the preflight.
func TestPreflightIsRepeatedAfterAnEarlierSync(t *testing.T) {
	c := tried(t, edition(t, "one", ""), 3)
	c.Refuse["dry-run update configmaps c0"] = errServer
	c.KubectlApply(edition(t, "two", ""))
	for range 8 {
		c.advance(20 * time.Second)
	}
	pass := func(by time.Duration) {
		c.Clock.SetTime(c.Clock.Now().Add(by))
		c.Run()
		c.Deliver()
		c.Run()
	}
	c.controllers.queue.AddAfter("apps", countsDelay)
	pass(countsDelay)
	clear(c.Refuse)
	for range 4 {
		pass(lastPreflightRetry)
	}
	if condition, _, _ := c.progress(); c.editions() != "map[two:3]" {
		t.Errorf("%s, %s; want all two", c.editions(), condition)
	}
}

func TestRefusedPreflightIsRepeated(t *testing.T) {
	c := tried(t, edition(t, "one", ""), 3)
	c.Refuse["dry-run update configmaps c0"] = errInvalid
	c.KubectlApply(edition(t, "two", ""))
	for range 4 {
		c.advance(2 * time.Second)
	}
	refused, _, _ := c.progress()
	version := c.Find("templatecontrollers", "apps").GetResourceVersion()
	for range 8 {
		c.advance(10 * time.Minute)
	}
	if got := c.Find("templatecontrollers", "apps").GetResourceVersion(); got != version {
		condition, _, _ := c.progress()
		t.Errorf("while it is refused, the status is written again: %s, before %s", condition, refused)
	}
	clear(c.Refuse) // such as by an administrator, or because the parent was corrected
	for range 8 {
		c.advance(10 * time.Minute)
	}
	if condition, _, _ := c.progress(); c.editions() != "map[two:3]" || condition != "no condition Progressing" {
		t.Errorf("no longer refused: %s, %s", c.editions(), condition)
	}
}

func TestApprovalShowsPreviewFirst(t *testing.T) {
	const approval = "rollout: {approval: Required, steps: [1]}"
	c := tried(t, edition(t, "one", approval), 3)
	c.KubectlApply(edition(t, "two", approval))
	for range 8 {
		c.advance(2 * time.Second)
	}
	condition, current, update := c.progress()
	want := "Unknown ApprovalRequired: no parent has the new revision yet: to approve it, set spec.rollout.approvedRevision to " + update
	if c.editions() != "map[one:3]" || condition != want || current == update {
		t.Fatalf("%s, %q, current %q; want %q", c.editions(), condition, current, want)
	}
	preview, _, _ := unstructured.NestedMap(c.Find("templatecontrollers", "apps").Object, "status", "preview")
	if got, want := fmt.Sprint(preview["revision"], preview["parents"], preview["total"], preview["create"], preview["update"], preview["failing"]), fmt.Sprint(update, 3, 3, 0, 3, 0); got != want {
		t.Errorf("preview %s, want %s: %v", got, want, preview)
	}
	c.Requests = []string{}
	c.start()
	for range 4 {
		c.advance(2 * time.Second)
	}
	wantRequests(t, "after a restart", c.Requests)
	c.KubectlApply(edition(t, "two", strings.Replace(approval, "Required", "Required, approvedRevision: "+update, 1)))
	for range 8 {
		c.advance(2 * time.Second)
	}
	condition, current, update = c.progress()
	if c.editions() != "map[two:3]" || current != update || !strings.HasPrefix(condition, "True RolloutComplete") {
		t.Errorf("approved: %s, %q", c.editions(), condition)
	}
	if left, exists, _ := unstructured.NestedMap(c.Find("templatecontrollers", "apps").Object, "status", "preview"); exists {
		t.Errorf("the preview is left: %v", left)
	}
}

var (
	errInvalid = refusal(422, metav1.StatusReasonInvalid, "data: no")
	errServer  = refusal(500, metav1.StatusReasonInternalError, "no")
)

func TestUnstorableRevisionStopsNothing(t *testing.T) {
	c := newCluster(t)
	c.Refuse["create templaterevisions "+revisionName(t, edition(t, "one", ""))] = errServer
	c.KubectlApply(edition(t, "one", ""))
	c.KubectlApply(newApp(withChildren("c0")))
	for range 4 {
		c.advance(time.Second)
	}
	if got, want := c.editions(), "map[one:1]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if condition, _, _ := c.progress(); !strings.HasPrefix(condition, "False RevisionNotStored: cannot read or write the TemplateRevisions of this TemplateController, will retry: ") {
		t.Errorf("condition %q", condition)
	}
	clear(c.Refuse)
	c.Settle()
	if condition, current, update := c.progress(); condition != "no condition Progressing" || current == "" || current != update {
		t.Errorf("stored: %q, current %q, update %q", condition, current, update)
	}
}

// revisionName returns the name of the TemplateRevision of a manifest.
func revisionName(t *testing.T, manifest string) string {
	t.Helper()
	tc := &v1.TemplateController{}
	if err := yaml.Unmarshal([]byte(manifest), tc); err != nil {
		t.Fatal(err)
	}
	return revision.Name("apps", "uid-apps", revision.IDOf(&tc.Spec))
}

// Authors, or the owners of a namespace, may be able to write the status. It decides neither about approval nor about the revision of a parent.
func TestStatusDoesNotDecideRevisions(t *testing.T) {
	const approval = "rollout: {approval: Required, steps: [1]}"
	c := fleet(t, edition(t, "one", approval), 3)
	_, first, _ := c.progress()
	c.KubectlApply(edition(t, "two", approval))
	c.Settle()
	second := idOf(t, edition(t, "two", approval))
	for _, forged := range []map[string]any{
		{"currentRevision": second, "updateRevision": second},
		{"currentRevision": "0000000000000000", "updateRevision": first},
		{},
	} {
		for _, restarted := range []bool{false, true} {
			c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.Object["status"] = forged })
			if restarted {
				c.start()
			}
			c.Settle()
			condition, current, update := c.progress()
			if got := c.editions(); got != "map[one:3]" || current != first || update != second || !strings.HasPrefix(condition, "Unknown ApprovalRequired: ") {
				t.Errorf("%v, restarted %t: %s, current %s, update %s, %s", forged, restarted, got, current, update, condition)
			}
		}
	}
	c.KubectlApply(invalid(t, edition(t, "three", approval)))
	c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { delete(o.Object, "status") })
	c.start()
	c.RemoveNow(request.Location{Resource: configMap("").Resource, Namespace: "ns", Name: "c0"})
	c.Settle()
	if got, want := c.editions(), "map[one:3]"; got != want {
		t.Errorf("rejected, without status: %s, want %s", got, want)
	}
}

func TestLostRevisionIsNotReadAgainAndAgain(t *testing.T) {
	c := fleet(t, edition(t, "one", staged), 3)
	c.KubectlApply(edition(t, "two", staged))
	for range 8 {
		c.advance(0)
	}
	for at, o := range c.Objects {
		if at.Resource == v1.RevisionResource && o.GetLabels()[v1.LabelRevision] == "1" {
			delete(c.Objects, at)
		}
	}
	c.start()
	c.Settle()
	c.Revisions = nil
	for range 10 {
		c.advance(time.Second)
	}
	if len(c.Revisions) > 0 {
		t.Errorf("requests for revisions: %q", c.Revisions)
	}
	c.advance(time.Minute)
	if len(c.Revisions) != 1 {
		t.Errorf("after a minute: requests for revisions: %q", c.Revisions)
	}
}

// A TemplateRevision that is deleted causes no write to a parent, also after a restart.
func TestLostRevisionChangesNoParent(t *testing.T) {
	pausedAt := func(text string) string { return strings.Replace(text, "steps", "paused: true, steps", 1) }
	for _, row := range []struct {
		why        string
		edits      []string
		spec, then string // spec.rollout of the last edits, and of the one that continues
		lost       string // edition
		editions   string
		condition  string // prefix
	}{
		{"the newest, which all parents have", []string{"one", "two"}, staged, "", "two", "map[two:4]", "False RevisionNotFound: "},
		{"the newest, without steps", []string{"one", "two"}, "", "", "two", "map[two:4]", "no condition Progressing"},
		{"an earlier one", []string{"one", "two"}, staged, staged, "one", "map[two:4]", "True RolloutComplete: "},
		{"the newest, in a rollout", []string{"one", "two"}, pausedAt(staged), "", "two", "map[one:4]", "False RevisionNotFound: "},
		{"the only one", []string{"two"}, staged, staged, "two", "map[two:4]", "True RolloutComplete: "},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := fleet(t, edition(t, row.edits[0], row.spec), 4)
			for _, text := range row.edits[1:] {
				c.KubectlApply(edition(t, text, row.spec))
			}
			for range 30 {
				c.advance(10 * time.Minute)
			}
			name := revisionName(t, edition(t, row.lost, row.spec))
			c.RemoveNow(request.Location{Resource: v1.RevisionResource, Name: name})
			c.start()
			for range 30 {
				c.advance(10 * time.Minute)
				if got := c.editions(); got != row.editions {
					t.Fatalf("%s, want %s", got, row.editions)
				}
			}
			if condition, _, _ := c.progress(); !strings.HasPrefix(condition, row.condition) {
				t.Errorf("condition %s, want %s", condition, row.condition)
			}
			c.KubectlApply(edition(t, "two", row.then))
			for range 30 {
				c.advance(10 * time.Minute)
			}
			if condition, current, update := c.progress(); c.editions() != "map[two:4]" || current != update {
				t.Errorf("in the end %s, current %q, update %q, %s", c.editions(), current, update, condition)
			}
		})
	}
}

// Without revisions, a change reaches all parents at once, and a rejected spec stops their reconciliation.
func TestWithoutRevisions(t *testing.T) {
	c := newCluster(t)
	c.unrevised, c.tries = true, true
	c.start()
	c.Revisions = nil // of the first start
	c.KubectlApply(edition(t, "one", staged))
	for i := range 3 {
		c.PutWithUID(newApp(withName(fmt.Sprint("p", i)), withChildren(fmt.Sprint("c", i))), types.UID(fmt.Sprint("uid-", i)))
	}
	c.Settle()
	c.KubectlApply(edition(t, "two", staged))
	c.Settle()
	condition, current, update := c.progress()
	if c.editions() != "map[two:3]" || current+update != "" || !strings.HasPrefix(condition, "False RevisionsDisabled: spec.rollout has no effect") || len(c.Revisions) > 0 {
		t.Errorf("%s, %q, current %q, update %q, requests %q", c.editions(), condition, current, update, c.Revisions)
	}
	c.KubectlApply(invalid(t, edition(t, "three", "")))
	c.Settle()
	if got, want := c.parentCounts(), "total 3, ready 0, failed 3"; got != want {
		t.Errorf("rejected: %s, want %s", got, want)
	}
}
