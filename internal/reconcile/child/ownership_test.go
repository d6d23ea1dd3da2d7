package child

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/seal"
)

func TestOnlyOlderTemplateControllersAdopt(t *testing.T) {
	since := time.Unix(1767225600, 0)
	at := func(d time.Duration) metav1.Time { return metav1.NewTime(since.Add(d)) }
	done, before := at(0), at(-time.Hour)
	for why, row := range map[string]struct {
		made  metav1.Time
		done  *metav1.Time
		since time.Time
		want  bool
	}{
		"it is older":                          {at(-time.Second), nil, since, true},
		"it is as old":                         {at(0), nil, since, false},
		"it is newer":                          {at(time.Second), nil, since, false},
		"all are sealed":                       {at(-time.Second), &done, since, false},
		"all were sealed when a key was lost":  {at(-time.Hour), &before, since, true},
		"nobody knows since when there is one": {at(-time.Second), nil, time.Time{}, false},
	} {
		tc := &v1.TemplateController{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: row.made}, Status: v1.TemplateControllerStatus{SealedSince: row.done}}
		if got := Adopting(tc, row.since); got != row.want {
			t.Errorf("%s: %v", why, got)
		}
	}
}

// parentOne is the parent of old.
var parentOne = seal.Parent{UID: "uid-one", Name: types.NamespacedName{Namespace: "ns", Name: "one"}}

func TestDepartedRemembersLimitedChildren(t *testing.T) {
	d := &Departed{}
	d.note("apps", "parent", "child")
	if !d.has("apps", "parent", "child") || d.has("other", "parent", "child") || d.has("apps", "other", "child") || d.has("apps", "parent", "other") {
		t.Error("it remembers something else")
	}
	for i := range 20 * maxDeparted {
		d.note("apps", "parent", types.UID(strconv.Itoa(i)))
	}
	if d.has("apps", "parent", "child") {
		t.Error("it never forgets")
	}
}

// TestDepartedRecordsLostChildren tests changes of old that a watch reports.
func TestDepartedRecordsLostChildren(t *testing.T) {
	for why, row := range map[string]struct {
		ours  bool // whether it was recognized as owned
		after []string
		known bool // whether it is recognized as owned now
		gone  bool
		want  bool
	}{
		"it is not shown any more":                        {ours: true, gone: true, want: true},
		"it was not ours, and is not shown any more":      {gone: true},
		"it names another parent":                         {ours: true, after: ofAnother, want: true},
		"it names another TemplateController":             {ours: true, after: byAnother, want: true},
		"it was not ours, and names another parent":       {after: ofAnother},
		"it is ours still":                                {ours: true, known: true},
		"it proves that it is another parent's":           {ours: true, after: ofAnother, known: true},
		"another object has its name, and another parent": {ours: true, after: slices.Concat(ofAnother, []string{"uid: u\n", "uid: v\n"})},
	} {
		t.Run(why, func(t *testing.T) {
			before, after := changed(t), changed(t, row.after...)
			if row.ours {
				before.Note(object.Ours)
			}
			if row.known {
				after.Note(object.Ours)
			}
			d, uid := &Departed{}, after.UID()
			if row.gone {
				after = nil
			}
			d.Note(before, after)
			if got := d.has("apps", "uid-one", "u"); got != row.want {
				t.Errorf("it counts as ours: %v, want %v", got, row.want)
			}
			if uid != "u" && d.has("apps", "uid-one", uid) {
				t.Error("the object that has its name counts as ours")
			}
		})
	}
}

// old is a child without a seal, created before the keys for seals.
const old = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  namespace: ns
  uid: u
  creationTimestamp: "2026-01-01T00:00:00Z"
  labels: {templater.dev/controller: apps, templater.dev/parent-uid: uid-one, templater.dev/child: maps}
  ownerReferences: [{apiVersion: example.org/v1, kind: App, name: one, uid: uid-one, controller: true}]
  managedFields: [{manager: templater/apps, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {}}}]
`

var configMaps = schema.GroupKind{Kind: "ConfigMap"}

// adopting returns the ownership of a controller whose children may be older than the keys for seals.
func adopting(t *testing.T) *Ownership {
	t.Helper()
	keys, err := seal.Parse(map[string]any{"9": base64.StdEncoding.EncodeToString([]byte(strings.Repeat("9", 32)))}, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	ring := &seal.Ring{}
	ring.Set(keys)
	return &Ownership{
		Controller: "apps", Manager: "templater/apps", Parents: schema.GroupKind{Group: "example.org", Kind: "App"}, APIVersion: "example.org/v1",
		Seals: ring, Departed: &Departed{}, Adopting: true, Round: ring.Round(),
	}
}

// changed returns old with some text replaced.
func changed(t *testing.T, pairs ...string) *object.Object {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(old, pairs[i]) {
			t.Fatalf("there is no %s", pairs[i])
		}
	}
	return packed(t, strings.NewReplacer(pairs...).Replace(old))
}

// Replacements in old: the text that shows who owns it, and other text.
var (
	byAnother   = []string{"controller: apps", "controller: other"}
	ofAnother   = []string{"parent-uid: uid-one", "parent-uid: other"}
	withoutOurs = []string{"manager: templater/apps", "manager: other"}
	ownerless   = []string{"controller: true", "controller: false"}
)

// TestUnsealedLegacyChildIsRecognized removes or changes the evidence of a child's owner.
func TestUnsealedLegacyChildIsRecognized(t *testing.T) {
	for why, row := range map[string]struct {
		changes []string
		want    bool
	}{
		"it is as it was made":                                {nil, true},
		"the labels alone tell":                               {withoutOurs, true},
		"nothing is ours, and it is another controller's":     {slices.Concat(withoutOurs, byAnother), false},
		"nothing is ours, and it is another parent's":         {slices.Concat(withoutOurs, ofAnother), false},
		"fields are ours, whatever the labels say":            {slices.Concat(byAnother, ofAnother), true},
		"it is owned by another kind":                         {[]string{"kind: App", "kind: Other"}, false},
		"nobody owns it":                                      {ownerless, true},
		"nobody owns it, and nothing is ours":                 {slices.Concat(ownerless, withoutOurs), false},
		"nobody owns it, and the label names another than us": {slices.Concat(ownerless, byAnother), false},
		"it is as old as the keys":                            {[]string{"2026-01-01", "2026-01-02"}, false},
		"nobody knows how old it is":                          {[]string{"2026-01-01T00:00:00Z", ""}, false},
		"it has a seal that is wrong":                         {[]string{"  labels:", "  annotations: {" + v1.AnnotationSeal + ": '9:x:y:maps'}\n  labels:"}, false},
	} {
		r, o := adopting(t), changed(t, row.changes...)
		if got := r.Made(o, configMaps); got != row.want {
			t.Errorf("%s: %v, want %v", why, got, row.want)
		}
		r.Adopting = false
		if r.Made(changed(t, row.changes...), configMaps) {
			t.Errorf("%s: it is a child though the time of those without seals is over", why)
		}
	}
}

// TestOwnershipIgnoresForgedLabels tests objects with arbitrary labels.
func TestOwnershipIgnoresForgedLabels(t *testing.T) {
	r := adopting(t)
	sealed := []string{"  labels:", "  annotations: {" + v1.AnnotationSeal + ": '" + r.Seals.Seal(r.subject(types.NamespacedName{Namespace: "ns", Name: "a"}, configMaps, parentOne), seal.Note{Entry: "maps"}) + "'}\n  labels:"}
	for why, row := range map[string]struct {
		changes  []string
		adopting bool
		note     object.Fact
		want     bool
	}{
		"it is from before the keys": {nil, true, 0, true},
		"its time is over":           {nil, false, 0, false},
		"its time is over, and it was ours when it was first seen": {nil, false, object.Ours, true},
		"its seal is for the parent, its labels are not":           {slices.Concat(sealed, ofAnother), false, 0, true},
		"the label names another parent, but this one owns it":     {ofAnother, true, 0, true},
		"the label names another parent, and nobody owns it":       {append([]string{"ownerReferences: [{apiVersion: example.org/v1, kind: App, name: one, uid: uid-one, controller: true}]", "ownerReferences: []"}, ofAnother...), true, 0, false},
		"another parent owns it":                                   {[]string{" uid: uid-one", " uid: other"}, true, 0, false},
		"another parent owns it, and its seal is for this one":     {slices.Concat(sealed, []string{" uid: uid-one", " uid: other"}), true, 0, false},
	} {
		r.Adopting = row.adopting
		o := changed(t, row.changes...)
		o.Note(row.note)
		if got := r.Ours(o, configMaps, parentOne); got != row.want {
			t.Errorf("%s: %v, want %v", why, got, row.want)
		}
	}
}

// TestOwnershipFactsAreCached repeats the checks after the keys have changed.
func TestOwnershipFactsAreCached(t *testing.T) {
	r := adopting(t)
	text := r.Seals.Seal(r.subject(types.NamespacedName{Namespace: "ns", Name: "a"}, configMaps, parentOne), seal.Note{Entry: "maps"})
	one, other := packed(t, "{metadata: {name: one, namespace: ns, uid: uid-one}}"), packed(t, "{metadata: {name: other, namespace: ns, uid: other}}")
	adopted, sealed := changed(t), changed(t, "  labels:", "  annotations: {"+v1.AnnotationSeal+": '"+text+"'}\n  labels:")
	for _, time := range []string{"first", "later"} {
		if !r.Made(adopted, configMaps) || !r.Belongs(adopted, configMaps, one) || r.Belongs(adopted, configMaps, other) {
			t.Errorf("%s: what is adopted is not the child of its parent alone", time)
		}
		if r.Unsealed(sealed, configMaps) || !r.Made(sealed, configMaps) {
			t.Errorf("%s: what has a seal is no child, or still to be sealed", time)
		}
		other, err := seal.Parse(map[string]any{"8": base64.StdEncoding.EncodeToString([]byte(strings.Repeat("8", 32)))}, r.Seals.Since())
		if err != nil {
			t.Fatal(err)
		}
		r.Seals.Set(other)
		r.Adopting = false
	}
}

// TestChildNamesItsParent tests children that name another parent than their seal.
func TestChildNamesItsParent(t *testing.T) {
	const ownerless = "ownerReferences: []"
	owned := "ownerReferences: [{apiVersion: example.org/v1, kind: App, name: one, uid: uid-one, controller: true}]"
	tenant := seal.Parent{UID: "uid-one", Name: types.NamespacedName{Namespace: "home", Name: "one"}}
	for why, row := range map[string]struct {
		parent seal.Parent
		says   string // the name in its annotation
		owners string
		names  bool
	}{
		"its owner":                                      {parentOne, "", owned, true},
		"the owner has another name":                     {parentOne, "", strings.Replace(owned, "name: one", "name: none", 1), false},
		"nobody":                                         {parentOne, "", ownerless, false},
		"its parent, which it outlives":                  {parentOne, "one", ownerless, true},
		"another, which it outlives":                     {parentOne, "none", ownerless, false},
		"its parent in another namespace":                {tenant, "home/one", ownerless, true},
		"another in that namespace":                      {tenant, "home/none", ownerless, false},
		"one of the name in a third namespace":           {tenant, "far/one", ownerless, false},
		"one of the name in its own namespace":           {tenant, "ns/one", ownerless, false},
		"one of the name in its own namespace, in short": {tenant, "one", ownerless, false},
		"one of the name in no namespace":                {tenant, "/one", ownerless, false},
		"its parent, which has no namespace":             {seal.Parent{UID: "uid-one", Name: types.NamespacedName{Name: "one"}}, "/one", ownerless, true},
	} {
		t.Run(why, func(t *testing.T) {
			r := adopting(t)
			r.Adopting = false
			text := r.Seals.Seal(r.subject(types.NamespacedName{Namespace: "ns", Name: "a"}, configMaps, row.parent), seal.Note{Entry: "maps"})
			sealed := []string{owned, row.owners, "  labels:", "  annotations: {" + v1.AnnotationSeal + ": '" + text + "', " + v1.AnnotationParent + ": '" + row.says + "'}\n  labels:"}
			parent := packed(t, "{metadata: {name: "+row.parent.Name.Name+", namespace: '"+row.parent.Name.Namespace+"', uid: uid-one}}")
			o := changed(t, sealed...)
			if got := r.Names(o, configMaps); got != row.names {
				t.Errorf("it proves that: %v, want %v", got, row.names)
			}
			if !r.Belongs(o, configMaps, parent) || !r.Ours(changed(t, sealed...), configMaps, row.parent) {
				t.Error("it is not the child of its parent any more")
			}
			if got := r.Names(o, configMaps); got != row.names || !r.Made(o, configMaps) {
				t.Errorf("once its parent knows it, it proves that: %v, want %v", got, row.names)
			}
		})
	}
}

func TestSealedFactMarksObjectAsSealed(t *testing.T) {
	r, o := adopting(t), changed(t)
	if !r.Unsealed(o, configMaps) {
		t.Error("it has no seal")
	}
	if o.Note(object.Sealed); r.Unsealed(o, configMaps) {
		t.Error("what was seen is forgotten")
	}
	if r.Unsealed(changed(t, "uid: u\n", "uid: u\n  deletionTimestamp: '2026-01-03T00:00:00Z'\n"), configMaps) {
		t.Error("what is going is waited for")
	}
}

func TestUnsealedChildUsesTemplateFromLabel(t *testing.T) {
	if got := NewLive(kind.Kind{}, changed(t)); got.Entry != "maps" || got.MadeFrom != "maps" {
		t.Errorf("entry %q, made from %q, want maps", got.Entry, got.MadeFrom)
	}
}

// TestChildIsSettledOnceLabelsMatchSeal tests labels that another client has changed.
func TestChildIsSettledOnceLabelsMatchSeal(t *testing.T) {
	r := adopting(t)
	parent := packed(t, "{apiVersion: example.org/v1, kind: App, metadata: {name: one, namespace: ns, uid: uid-one}}")
	marks := (&Maker{Ownership: r, Parent: parent}).Marks(&v1.Child{Name: "maps"}, configMaps, "ns", true)
	text := r.Seals.Seal(marks.subject(types.NamespacedName{Namespace: "ns", Name: "a"}), seal.Note{Entry: "maps"})
	for labels, want := range map[string]bool{"controller: apps, templater.dev/child: maps": true, "controller: apps, templater.dev/child: other": false, "controller: other, templater.dev/child: maps": false} {
		o := changed(t, "controller: apps,", labels+",", ", templater.dev/child: maps", "", "  labels:", "  annotations: {"+v1.AnnotationSeal+": '"+text+"'}\n  labels:")
		if marks.Unsealed(o) || o.Settled(r.Seals.Round()) != want {
			t.Errorf("labels %s: it is unsealed, or settled is not %v", labels, want)
		}
	}
}
