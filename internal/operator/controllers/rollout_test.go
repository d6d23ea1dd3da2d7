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

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
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

func TestAbandonedRevisionIsLeftAlone(t *testing.T) {
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
