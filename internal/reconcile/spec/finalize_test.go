package spec

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/templater-dev/templater/api/v1"
)

func TestNeedsFinalizer(t *testing.T) {
	for why, row := range map[string]struct {
		spec v1.TemplateControllerSpec
		want bool
	}{
		"nobody": {v1.TemplateControllerSpec{Children: []v1.Child{{Name: "a"}}}, false},
		"order":  {v1.TemplateControllerSpec{Finalize: &v1.Finalize{Order: v1.FinalizeReverse}}, true},
		"children that no owner reference covers":      {v1.TemplateControllerSpec{Children: []v1.Child{{Name: "a", Scope: v1.ScopeCluster}}}, true},
		"such children that stay when the parent goes": {v1.TemplateControllerSpec{Children: []v1.Child{{Name: "a", Scope: v1.ScopeCluster, DeletionPolicy: v1.DeletionOrphan}}}, false},
	} {
		if got := NeedsFinalizer(&row.spec); got != row.want {
			t.Errorf("%s: %v, want %v", why, got, row.want)
		}
	}
}

func TestFinalizeTimeouts(t *testing.T) {
	const form = "spec.finalize.timeout: must be a duration such as 90s or 1h30m, with the units h, m, s and ms, or 0s to disable it"
	const short = "spec.finalize.timeout: must be at least 1s, or 0s to disable it"
	for text, want := range map[string]struct {
		timeout time.Duration
		fault   string
	}{
		"": {0, ""}, "0s": {0, ""}, "1h30m": {90 * time.Minute, ""},
		"soon": {0, form}, "-1s": {0, form}, "999ms": {0, short},
	} {
		spec := specWith("{}", "x")
		spec.Finalize = &v1.Finalize{Order: v1.FinalizeReverse, Timeout: text}
		if got := FinalizeTimeout(spec); got != want.timeout {
			t.Errorf("%q: %v, want %v", text, got, want.timeout)
		}
		_, r := Compile("tc", spec)
		if got := ""; r != nil && r.Message != want.fault || r == nil && got != want.fault {
			t.Errorf("%q: rejected as %+v, want %q", text, r, want.fault)
		}
	}
	if got := FinalizeTimeout(specWith("{}", "x")); got != 0 {
		t.Errorf("without spec.finalize: %v", got)
	}
}

// When a timeout expires, the parent is released. Users of Block must not lose backups by an upgrade.
func TestOnTimeoutIsRejected(t *testing.T) {
	const want = "spec.finalize.onTimeout: no longer supported: the finalizer is always removed when timeout expires; to wait without a limit, as with Block, also remove timeout"
	for _, value := range []string{"Block", "Delete"} {
		t.Run(value, func(t *testing.T) {
			spec := specWith("{}", "x")
			spec.Finalize = &v1.Finalize{Order: v1.FinalizeReverse, Timeout: "1h", OnTimeout: value}
			if _, r := Compile("tc", spec); r == nil || r.Message != want {
				t.Errorf("rejected as %+v, want %q", r, want)
			}
		})
	}
}

// Earlier versions stored the default, Continue, which is now the only behavior. An upgrade must not reject it.
func TestStoredDefaultOfOnTimeoutIsIgnored(t *testing.T) {
	spec := specWith("{}", "x")
	spec.Finalize = &v1.Finalize{Order: v1.FinalizeReverse, Timeout: "1h", OnTimeout: "Continue"}
	if _, r := Compile("tc", spec); r != nil {
		t.Errorf("rejected as %+v", r)
	}
	want := []string{"spec.finalize.onTimeout: this field is no longer supported and is ignored: the finalizer is always removed when the timeout expires; remove the field"}
	var got []string
	for _, f := range Ignored(spec) {
		got = append(got, f.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
