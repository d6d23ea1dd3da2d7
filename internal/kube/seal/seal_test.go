package seal

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// keysOf returns keys with these numbers. They are deterministic.
func keysOf(t testing.TB, ids ...string) *Keys {
	t.Helper()
	k, err := Parse(dataOf(ids...), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func dataOf(ids ...string) map[string]any {
	data := map[string]any{}
	for _, id := range ids {
		data[id] = base64.StdEncoding.EncodeToString([]byte(strings.Repeat(id[:1], shortestKey)))
	}
	return data
}

func ringOf(t testing.TB, ids ...string) *Ring {
	t.Helper()
	r := &Ring{}
	r.Set(keysOf(t, ids...))
	return r
}

var (
	subject = Subject{
		Definition: Definition{Kind: "TemplateController", Name: types.NamespacedName{Name: "apps"}}, Parent: Parent{UID: "4f1f7a52-0000-4000-8000-000000000001", Kind: schema.GroupKind{Group: "example.org", Kind: "Shop"}, Name: types.NamespacedName{Namespace: "home", Name: "shop"}}, Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"},
		Name: types.NamespacedName{Namespace: "ns", Name: "web"},
	}
	note = Note{Entry: "pods", Hash: "0123456789abcdef0123456789abcdef", Policies: Policies{PruneOrphan: true, Order: 2}, Serial: 1767225600123}
)

func TestSealIsValidForItsSubjectOnly(t *testing.T) {
	r := ringOf(t, "5")
	text := r.Seal(subject, note)
	if got, verdict := r.Open(text, subject); verdict != Valid || got != note || Read(text) != note {
		t.Fatalf("%s: got %v %v, read %v", text, got, verdict, Read(text))
	}
	for what, change := range map[string]func(*Subject){
		"another TemplateController":         func(s *Subject) { s.Definition.Name.Name = "other" },
		"a definition of another kind":       func(s *Subject) { s.Definition.Kind = "NamespacedTemplateController" },
		"a definition in a namespace":        func(s *Subject) { s.Definition.Name.Namespace = "ns" },
		"another parent":                     func(s *Subject) { s.Parent.UID = "u" },
		"a parent of another kind":           func(s *Subject) { s.Parent.Kind.Kind = "Cart" },
		"a parent of another group":          func(s *Subject) { s.Parent.Kind.Group = "other.example.org" },
		"a parent of another name":           func(s *Subject) { s.Parent.Name.Name = "other" },
		"a parent in another namespace":      func(s *Subject) { s.Parent.Name.Namespace = "other" },
		"a parent in the child's namespace":  func(s *Subject) { s.Parent.Name.Namespace = "ns" },
		"a parent in no namespace":           func(s *Subject) { s.Parent.Name.Namespace = "" },
		"another kind":                       func(s *Subject) { s.Kind.Kind = "StatefulSet" },
		"another group":                      func(s *Subject) { s.Kind.Group = "" },
		"another namespace":                  func(s *Subject) { s.Name.Namespace = "other" },
		"another name":                       func(s *Subject) { s.Name.Name = "other" },
		"a part of one name in the next one": func(s *Subject) { s.Name = types.NamespacedName{Namespace: "nsw", Name: "eb"} },
	} {
		other := subject
		change(&other)
		if _, verdict := r.Open(text, other); verdict != Broken {
			t.Errorf("%s: verdict %v", what, verdict)
		}
	}
}

// TestParentNamespaceInSealDefaultsToChildNamespace is needed because owner references have no namespace.
func TestParentNamespaceInSealDefaultsToChildNamespace(t *testing.T) {
	r, here, short := ringOf(t, "5"), subject, subject
	here.Parent.Name.Namespace, short.Parent.Name.Namespace = "ns", ""
	if _, verdict := r.Open(r.Seal(here, note), short); verdict != Valid {
		t.Errorf("made for the full name: verdict %v by the short one", verdict)
	}
	if _, verdict := r.Open(r.Seal(short, note), here); verdict != Valid {
		t.Errorf("made for the short name: verdict %v by the full one", verdict)
	}
}

// sealOfFormat1 and sealOfFormat2 are seals in earlier formats for subject and note, with the key 5.
const (
	sealOfFormat1 = "5:mjuohs3f:Ysc2E4SwUy_TEZdvB8Kodg:pods"
	sealOfFormat2 = "5:2:mjuohs3f:Rav4IImNEpMjPdRQs9vK6w:p2:0123456789abcdef0123456789abcdef:pods"
)

// TestSealFormatsArePinned pins the bytes of all formats: after a change, all children would be sealed again, or lost. Format 3
// covers the kind of the parents, so that a TemplateController cannot delete children of another one with the same name.
func TestSealFormatsArePinned(t *testing.T) {
	r := ringOf(t, "5")
	const want = "5:3:mjuohs3f:NY81Y9-6aHq-1yc2I26OWw:p2:0123456789abcdef0123456789abcdef:pods"
	if got := r.Seal(subject, note); got != want {
		t.Errorf("the seal is %s, want %s", got, want)
	}
	bare := "5:3:1:EB6PAvMTkJ956qyUcONeUQ:::pods"
	if got := r.Seal(subject, Note{Entry: "pods", Serial: 1}); got != bare {
		t.Errorf("the seal is %s, want %s", got, bare)
	}
	old := Note{Entry: "pods", Serial: 1767225600123, Old: true}
	for format, text := range map[string]string{"1": sealOfFormat1, "2": sealOfFormat2} {
		if got, verdict := r.Open(text, subject); verdict != Valid || got != old || Read(text) != old {
			t.Errorf("of format %s: %+v, verdict %v, read %+v; want %+v", format, got, verdict, Read(text), old)
		}
	}
	if _, verdict := r.Open(strings.Replace(sealOfFormat2, ":p2:", "::", 1), subject); verdict != Broken {
		t.Errorf("of format 2, with other policies: verdict %v", verdict)
	}
	other := subject
	other.Definition.Kind = "NamespacedTemplateController"
	if _, verdict := r.Open(sealOfFormat1, other); verdict != Broken {
		t.Errorf("of format 1, for a definition of another kind: verdict %v", verdict)
	}
}

// TestModifiedSealIsInvalid modifies each part of a seal.
func TestModifiedSealIsInvalid(t *testing.T) {
	r := ringOf(t, "5")
	text := r.Seal(subject, note)
	with := func(part int, value string) string {
		parts := strings.Split(text, ":")
		parts[part] = value
		return strings.Join(parts, ":")
	}
	mac := strings.Split(text, ":")[3]
	for what, row := range map[string]struct {
		text string
		want Verdict
	}{
		"none":                    {"", None},
		"an unknown key":          {with(0, "6"), Foreign},
		"no key":                  {":" + text, Foreign},
		"an unknown version":      {with(1, "4"), Broken},
		"an earlier version":      {with(1, "2"), Broken},
		"format 1":                {"5:" + strings.Join([]string{strings.Split(text, ":")[2], mac, "pods"}, ":"), Broken},
		"another serial":          {with(2, "1"), Broken},
		"no serial":               {with(2, ""), Broken},
		"no code":                 {with(3, ""), Broken},
		"a shortened code":        {with(3, mac[:21]), Broken},
		"other policies":          {with(4, "pd2"), Broken},
		"no policies":             {with(4, ""), Broken},
		"policies that are none":  {with(4, "x"), Broken},
		"another order":           {with(4, "p3"), Broken},
		"another hash":            {with(5, "1123456789abcdef0123456789abcdef"), Broken},
		"no hash":                 {with(5, ""), Broken},
		"another entry":           {with(6, "jobs"), Broken},
		"no entry":                {strings.TrimSuffix(text, ":pods"), Broken},
		"the key alone":           {"5", Broken},
		"the key and version":     {"5:2", Broken},
		"format 1, another time":  {strings.Replace(sealOfFormat1, "mjuohs3f", "1", 1), Broken},
		"format 1, another entry": {strings.Replace(sealOfFormat1, "pods", "jobs", 1), Broken},
		"format 1, with a hash":   {strings.Replace(sealOfFormat1, "pods", "abc:pods", 1), Broken},
		"something long":          {strings.Repeat("5:", 1000), Broken},
		"something long with 2":   {strings.Repeat("5:2:", 1000), Broken},
		"something foreign":       {strings.Repeat("x", 1000), Foreign},
	} {
		t.Run(what, func(t *testing.T) {
			if got, verdict := r.Open(row.text, subject); verdict != row.want || got != (Note{}) {
				t.Errorf("note %+v, verdict %v, want verdict %v", got, verdict, row.want)
			}
		})
	}
}

func TestNewestKeySealsAndAllKeysVerify(t *testing.T) {
	old, both, next := ringOf(t, "9"), ringOf(t, "9", "10"), ringOf(t, "10")
	before := old.Seal(subject, note)
	if _, verdict := both.Open(before, subject); verdict != Valid || !both.KeyOutdated(before) || old.KeyOutdated(before) {
		t.Errorf("the seal of the older key: verdict %v, worn %v", verdict, both.KeyOutdated(before))
	}
	after := both.Seal(subject, note)
	if _, verdict := next.Open(after, subject); verdict != Valid || both.KeyOutdated(after) {
		t.Errorf("the seal of the newer key: verdict %v, worn %v", verdict, both.KeyOutdated(after))
	}
	if _, verdict := next.Open(before, subject); verdict != Foreign {
		t.Errorf("the seal of a key that is gone: verdict %v", verdict)
	}
	for _, text := range []string{"", "10", "1", "100:x"} {
		if !next.KeyOutdated(text) {
			t.Errorf("%q counts as one of the newest key", text)
		}
	}
}

func TestSetReportsChangedKeys(t *testing.T) {
	r := &Ring{}
	if r.Keys() != nil || !r.Since().IsZero() || r.Round() != 0 {
		t.Error("a ring without keys has some")
	}
	since := keysOf(t, "1")
	since.Since = time.Unix(1, 0)
	for i, row := range []struct {
		keys *Keys
		want bool
	}{{keysOf(t, "1"), true}, {keysOf(t, "1"), false}, {keysOf(t, "1", "2"), true}, {since, true}} {
		if got := r.Set(row.keys); got != row.want {
			t.Errorf("%d: changed is %v", i, got)
		}
	}
	if r.Round() != 3 || !r.Since().Equal(time.Unix(1, 0)) {
		t.Errorf("round %d, since %v", r.Round(), r.Since())
	}
}

// TestSerialsIncreaseWhenClockJumps has a clock that jumps, and objects that another process with a fast clock has sealed.
func TestSerialsIncreaseWhenClockJumps(t *testing.T) {
	const at = 1767225600000
	r := &Ring{}
	for i, row := range []struct{ now, before, want int64 }{
		{at, 0, at},
		{at, 0, at + 1},
		{at - 3600000, 0, at + 2},
		{at, at + 600000, at + 600001},
		{at, 0, at + 600002},
		{at + 700000, at + 600001, at + 700000},
	} {
		if got := r.Serial(time.UnixMilli(row.now), row.before); got != row.want {
			t.Errorf("%d: serial %d, want %d", i, got, row.want)
		}
	}
}

// TestConcurrentSerialsAreUnique has 32 concurrent workers and a stopped clock, 60 s ahead of the server's.
func TestConcurrentSerialsAreUnique(t *testing.T) {
	const workers, at = 32, int64(1767225600000)
	r, all := &Ring{}, make(chan int64, workers)
	for range workers {
		go func() { all <- r.Serial(time.UnixMilli(at), at-60000) }()
	}
	seen := map[int64]bool{}
	for range workers {
		serial := <-all
		if seen[serial] || serial < at || serial >= at+workers {
			t.Errorf("serial %d after the clock: it is repeated, or further away than the number of workers", serial-at)
		}
		seen[serial] = true
	}
}

func TestParse(t *testing.T) {
	made := time.Unix(1767225600, 0)
	encode := base64.StdEncoding.EncodeToString
	many := map[string]any{}
	for i := range mostKeys + 1 {
		many["1"+strings.Repeat("0", i%longestID)+"1"[:i/longestID]] = encode(make([]byte, shortestKey))
	}
	good := encode(make([]byte, shortestKey))
	for why, row := range map[string]struct {
		data map[string]any
		want string // "" = valid
	}{
		"a key":               {map[string]any{"1": good}, ""},
		"a longer one":        {map[string]any{"1": encode(make([]byte, 100))}, ""},
		"nothing":             {nil, "it has no key"},
		"a time alone":        {map[string]any{"since": encode([]byte("2026-01-01T00:00:00Z"))}, "it has no key"},
		"a name":              {map[string]any{"my-very-own-password": good}, `invalid key name "my-very-own-…"`},
		"a zero in front":     {map[string]any{"01": good}, `invalid key name "01"`},
		"no name at all":      {map[string]any{"": good}, `invalid key name ""`},
		"a letter at the end": {map[string]any{"1x": good}, `invalid key name "1x"`},
		"a long number":       {map[string]any{strings.Repeat("1", 12): good}, ""},
		"a name as long":      {map[string]any{"abcdefghijkl": good}, `invalid key name "abcdefghijkl"`},
		"a very long number":  {map[string]any{strings.Repeat("1", 13): good}, `invalid key name`},
		"a short key":         {map[string]any{"1": encode(make([]byte, 31))}, `key "1" is too short: use 32 random bytes`},
		"not base64":          {map[string]any{"1": "%"}, `data "1" is not base64`},
		"no time":             {map[string]any{"1": good, "since": encode([]byte("secret"))}, `data "since" is not a time`},
		"no text":             {map[string]any{"1": 7}, `key "1" is too short`},
		"too many":            {many, "keys; the limit is 16"},
	} {
		keys, err := Parse(row.data, made)
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: error %v, want %q", why, err, row.want)
		}
		if err == nil && !keys.Since.Equal(made) {
			t.Errorf("%s: since %v", why, keys.Since)
		}
		if errors.Is(err, ErrNoKey) != (row.want == ErrNoKey.Error()) {
			t.Errorf("%s: %v", why, err)
		}
	}
	keys, err := Parse(map[string]any{"1": good, "since": encode([]byte("2020-01-01T00:00:00Z\n"))}, made)
	if err != nil || keys.Since.Year() != 2020 {
		t.Errorf("got %v %v, want the time that the data says", keys, err)
	}
	if again, err := Parse(keys.Data(), made); err != nil || !again.same(keys) {
		t.Errorf("what is written is not read: %v", err)
	}
}

func TestGeneratedKeysDiffer(t *testing.T) {
	now := time.Unix(1767225600, 0)
	a, b := Generate(now), Generate(now)
	if a.same(b) || a.IDs()[0] != "1767225600" {
		t.Error("two keys are the same")
	}
	if _, err := Parse(a.Data(), now); err != nil {
		t.Error(err)
	}
}

func BenchmarkOpen(b *testing.B) {
	r := ringOf(b, "1767225600")
	text := r.Seal(subject, note)
	b.ReportAllocs()
	for b.Loop() {
		if _, verdict := r.Open(text, subject); verdict != Valid {
			b.Fatal(verdict)
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	r := ringOf(b, "1767225600")
	b.ReportAllocs()
	for b.Loop() {
		r.Seal(subject, note)
	}
}
