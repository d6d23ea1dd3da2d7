package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// order returns these dependencies: page waits for web, which waits for db; both waits for db and web; lone has no dependencies.
func order(t *testing.T) *spec.Order {
	t.Helper()
	c, r := spec.Compile("tc", &v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "v1", Kind: "ConfigMap"}, Children: []v1.Child{
		{Name: "page", Template: "a: b", DependsOn: []string{"web"}}, {Name: "web", Template: "a: b", DependsOn: []string{"db"}},
		{Name: "db", Template: "a: b"}, {Name: "lone", Template: "a: b"}, {Name: "both", Template: "a: b", DependsOn: []string{"db", "web"}},
	}})
	if r != nil {
		t.Fatal(r.Message)
	}
	return c.Order
}

// Jobs in several states: the hash of the desired content is "now".
const (
	ready    = `"metadata": {"name": "x", "annotations": {"templater.dev/applied-hash": "now"}}, "status": {"conditions": [{"type": "Complete", "status": "True"}]}`
	coming   = `"metadata": {"name": "x", "annotations": {"templater.dev/applied-hash": "now"}}, "status": {"startTime": "x"}`
	outdated = `"metadata": {"name": "x", "annotations": {"templater.dev/applied-hash": "old"}}, "status": {"conditions": [{"type": "Complete", "status": "True"}]}`
	deleting = `"metadata": {"name": "x", "annotations": {"templater.dev/applied-hash": "old"}, "deletionTimestamp": "2026-01-01T00:00:00Z"}`
	absent   = ""
)

// wanted returns a Job of a child template, and its existing state.
func wanted(t *testing.T, entry, strategy, text string) *child.Wanted {
	t.Helper()
	ring := &seal.Ring{}
	ring.Set(seal.Generate(time.Unix(1, 0)))
	maker := &child.Maker{Ownership: &child.Ownership{Controller: "m", Seals: ring}, Parent: from(t, `"metadata": {"name": "one", "uid": "u"}`)}
	w := &child.Wanted{
		Entry: &v1.Child{Name: entry, UpdateStrategy: v1.UpdateStrategy{Type: v1.UpdateStrategyType(strategy)}}, Hash: "now", Content: map[string]any{"spec": map[string]any{"is": "now"}},
		Kind: kind.Kind{Kind: "Job"}, Name: types.NamespacedName{Namespace: "ns", Name: "x"},
	}
	w.Marks = maker.Marks(w.Entry, w.Kind.GroupKind(), "ns", false)
	if text != absent {
		sealed := maker.SignUnverified(w.Kind.GroupKind(), from(t, text))
		w.Live = child.NewLive(w.Kind, from(t, strings.Replace(text, `"templater.dev/applied-hash"`, `"templater.dev/seal": "`+sealed+`", "templater.dev/applied-hash"`, 1)))
	}
	return w
}

func from(t *testing.T, text string) *object.Object {
	t.Helper()
	o, err := object.Decode([]byte(`{"apiVersion": "batch/v1", "kind": "Job", ` + text + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestBlockedTemplatesByDependencyState(t *testing.T) {
	const webWaits = "children[web] waits for children[db]"
	for why, row := range map[string]struct {
		db       []string // existing state of its objects
		strategy string
		failed   []string // child templates that cannot be rendered
		disputed bool     // whether another document defines an object of db
		closed   string
		says     string // the message for web, if it is held
	}{
		"all is ready":                 {db: []string{ready, ready}},
		"there is nothing to wait for": {},
		"one is not there":             {db: []string{ready, absent}, closed: "web page both", says: webWaits + ": Job ns/x: does not exist yet"},
		"one is not ready":             {db: []string{coming, ready}, closed: "web page both", says: webWaits + ": Job ns/x: running, 0 of 1 Pods have succeeded"},
		"two are not":                  {db: []string{coming, absent}, closed: "web page both", says: webWaits + ": Job ns/x: running, 0 of 1 Pods have succeeded; Job ns/x: does not exist yet"},
		"one is out of date":           {db: []string{outdated}, closed: "web page both", says: webWaits + ": Job ns/x: not updated yet"},
		"one is out of date until somebody deletes it": {db: []string{outdated}, strategy: "OnDelete", closed: "web page both", says: webWaits + ": Job ns/x: out of date, delete it to have it recreated"},
		"one has been deleted for that":                {db: []string{deleting}, strategy: "OnDelete", closed: "web page both", says: webWaits + ": Job ns/x: being deleted"},
		"one is made anew, and is not ready":           {db: []string{coming}, strategy: "OnDelete", closed: "web page both", says: webWaits + ": Job ns/x: running, 0 of 1 Pods have succeeded"},
		"one stays as it was made":                     {db: []string{outdated}, strategy: "CreateOnly"},
		"one stays as it was made, and is not ready":   {db: []string{coming}, strategy: "CreateOnly", closed: "web page both", says: webWaits + ": Job ns/x: running, 0 of 1 Pods have succeeded"},
		"one is being replaced":                        {db: []string{deleting}, strategy: "Recreate", closed: "web page both", says: webWaits + ": Job ns/x: being deleted"},
		"db cannot be rendered":                        {db: []string{ready}, failed: []string{"db"}, closed: "web page both", says: webWaits + ", which has an error"},
		"an object of db is disputed":                  {db: []string{ready}, disputed: true, closed: "web page both", says: webWaits + ", which has an error"},
		"web cannot be rendered, though it may begin":  {db: []string{ready}, failed: []string{"web"}, closed: "page both"},
	} {
		d := &child.Desired{Failed: row.failed}
		for _, text := range row.db {
			d.Wanted = append(d.Wanted, wanted(t, "db", row.strategy, text))
		}
		if row.disputed {
			d.Faults = append(d.Faults, child.Fault{Entry: "lone", Other: "db", Always: true, Problem: &problem.Problem{}})
		}
		g := NewDependencies(order(t), d, nil)
		var closed []string
		for _, entry := range []string{"web", "page", "both", "db", "lone"} {
			if g.Blocks(entry) {
				closed = append(closed, entry)
			}
		}
		if got := strings.Join(closed, " "); got != row.closed {
			t.Errorf("%s: closed are %q, want %q", why, got, row.closed)
		}
		var says []string
		for _, p := range g.Waits(map[string]bool{"web": true}) {
			says = append(says, p.Message)
		}
		if got := strings.Join(says, "|"); got != row.says {
			t.Errorf("%s: says %q, want %q", why, got, row.says)
		}
	}
}

// TestWaitMessagesNameDependencies expects messages for held child templates and their dependencies, in dependency order.
func TestWaitMessagesNameDependencies(t *testing.T) {
	d := &child.Desired{Wanted: []*child.Wanted{wanted(t, "db", "", coming)}}
	const web, page, both = "children[web] waits for children[db]: Job ns/x: running, 0 of 1 Pods have succeeded", "children[page] waits for children[web]", "children[both] waits for children[web]"
	for held, want := range map[string][]string{"": nil, "web": {web}, "page": {web, page}, "both": {web, both}, "page both": {web, page, both}, "db": nil} {
		those := map[string]bool{}
		for _, entry := range strings.Fields(held) {
			those[entry] = true
		}
		var got []string
		for _, p := range NewDependencies(order(t), d, nil).Waits(those) {
			if p.Reason != v1.ReasonWaiting || !p.Waiting || p.Retry != problem.RetryOnChange {
				t.Errorf("%+v is no wait", p)
			}
			got = append(got, p.Message)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("held are %q: told (-want +got):\n%s", held, diff)
		}
	}
}

func TestFaultsOfBlockedTemplatesAreNotReported(t *testing.T) {
	faults := []child.Fault{
		{Entry: "web", Problem: &problem.Problem{Message: "web"}}, {Entry: "web", Always: true, Problem: &problem.Problem{Message: "budget"}},
		{Entry: "lone", Problem: &problem.Problem{Message: "lone"}}, {Always: true, Problem: &problem.Problem{Message: "all"}},
	}
	for text, want := range map[string][]string{ready: {"web", "budget", "lone", "all"}, coming: {"budget", "lone", "all"}} {
		d := &child.Desired{Wanted: []*child.Wanted{wanted(t, "db", "", text)}}
		var got []string
		for _, p := range NewDependencies(order(t), d, nil).Reported(faults) {
			got = append(got, p.Message)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	}
}

func TestDependenciesKeepObjectsOfBlockedTemplates(t *testing.T) {
	for why, row := range map[string]struct {
		db     string
		failed []string
		kept   string
	}{
		"nobody waits":                                {ready, nil, ""},
		"nobody waits, and one has a fault":           {ready, []string{"lone"}, ""},
		"two wait, whose objects are known":           {coming, nil, "web page both"},
		"web is not known, and may want any but db's": {coming, []string{"web"}, "web page both lone gone"},
		"page is not known, which waits for web":      {coming, []string{"page"}, "web page both lone gone"},
	} {
		g := NewDependencies(order(t), &child.Desired{Failed: row.failed, Wanted: []*child.Wanted{wanted(t, "db", "", row.db)}}, nil)
		var kept []string
		for _, entry := range []string{"web", "page", "both", "db", "lone", "gone"} {
			l := child.NewLive(kind.Kind{Kind: "Job"}, from(t, `"metadata": {"name": "x", "labels": {"templater.dev/child": "`+entry+`"}}`))
			if g.Keeps(l) {
				kept = append(kept, entry)
			}
		}
		if got := strings.Join(kept, " "); got != row.kept {
			t.Errorf("%s: kept is %q, want %q", why, got, row.kept)
		}
	}
}

// TestObjectPossiblyDesiredByUnknownTemplateIsKept: a child template that is not rendered may desire any object except those of its own
// dependencies.
func TestObjectPossiblyDesiredByUnknownTemplateIsKept(t *testing.T) {
	c, r := spec.Compile("tc", &v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "v1", Kind: "ConfigMap"}, Children: []v1.Child{
		{Name: "db", Template: "a: b"}, {Name: "x", Template: "a: b"},
		{Name: "a", Template: "a: b", DependsOn: []string{"db"}}, {Name: "b", Template: "a: b", DependsOn: []string{"x"}},
	}})
	if r != nil {
		t.Fatal(r.Message)
	}
	moved := child.NewLive(kind.Kind{Kind: "Job"}, from(t, `"metadata": {"name": "x", "labels": {"templater.dev/child": "db"}}`))
	for _, row := range []struct {
		unknown []string
		keeps   bool
	}{{[]string{"b"}, true}, {[]string{"a", "b"}, true}, {[]string{"a"}, false}} {
		d := &child.Desired{Failed: row.unknown, Wanted: []*child.Wanted{wanted(t, "db", "", coming), wanted(t, "x", "", coming)}}
		if got := NewDependencies(c.Order, d, nil).Keeps(moved); got != row.keeps {
			t.Errorf("%v are not known: an object of db is kept: %v, want %v", row.unknown, got, row.keeps)
		}
	}
}

func TestReadyDependencyUnblocksDependents(t *testing.T) {
	of := func(text string) *Dependencies {
		return NewDependencies(order(t), &child.Desired{Wanted: []*child.Wanted{wanted(t, "db", "", text)}}, nil)
	}
	for _, row := range []struct {
		before, after string
		want          bool
	}{{coming, ready, true}, {ready, coming, false}, {coming, coming, false}, {ready, ready, false}} {
		if got := of(row.before).Unblocks(of(row.after)); got != row.want {
			t.Errorf("from %s to %s: opened is %v", row.before, row.after, got)
		}
	}
}

func TestEmptyDependenciesDoNotBlock(t *testing.T) {
	d := &child.Desired{Faults: []child.Fault{{Entry: "web", Problem: &problem.Problem{}}}}
	g := NewDependencies(nil, d, nil)
	if g != nil || g.Blocks("web") || g.Keeps(nil) || g.Waits(nil) != nil || g.Unblocks(nil) || len(g.Reported(d.Faults)) != 1 {
		t.Error("somebody waits where no entry waits for another")
	}
	if allocated := testing.AllocsPerRun(10, func() { NewDependencies(nil, d, nil).Waits(nil) }); allocated > 0 {
		t.Errorf("that no entry waits allocates %v times", allocated)
	}
}
