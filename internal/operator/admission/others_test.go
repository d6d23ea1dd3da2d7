package admission

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/finding"
)

// named returns a TemplateController like fine, with another name.
func named(t *testing.T, name string) *v1.TemplateController {
	t.Helper()
	tc := &v1.TemplateController{}
	if err := json.Unmarshal(raw(t, strings.Replace(fine, "name: apps", "name: "+name, 1)), tc); err != nil {
		t.Fatal(err)
	}
	return tc
}

func TestWarnsAboutSharedReadyCondition(t *testing.T) {
	const want = "spec.watch.kind: TemplateController other also writes the Ready condition of the same parents: set another spec.status.readyCondition in one of the two, or let them select different parents"
	selects := func(tc *v1.TemplateController) *v1.TemplateController {
		tc.Spec.Watch.Namespaces = []string{"a"}
		return tc
	}
	in := func(manifest, namespace string) string {
		return strings.Replace(manifest, "kind: App}", "kind: App, namespaces: ["+namespace+"]}", 1)
	}
	renamed := strings.Replace(fine, "spec:\n", "spec:\n  status: {readyCondition: Other}\n", 1)
	long := strings.Repeat("a", 253)
	for _, row := range []struct {
		why           string
		before, after string
		others        []*v1.TemplateController
		want          string
	}{
		{"created", "", fine, []*v1.TemplateController{named(t, "other")}, "yes\n" + want},
		{"edited", renamed, fine, []*v1.TemplateController{named(t, "other")}, "yes\n" + want},
		{"the spec is kept", fine, fine, []*v1.TemplateController{named(t, "other")}, "yes"},
		{"it is the only one", in(fine, "b"), fine, []*v1.TemplateController{named(t, "apps")}, "yes"},
		{"another condition", "", renamed, []*v1.TemplateController{named(t, "other")}, "yes"},
		{"equal selectors", "", in(fine, "a"), []*v1.TemplateController{selects(named(t, "other"))}, "yes\n" + want},
		{"one without selectors", "", fine, []*v1.TemplateController{selects(named(t, "other"))}, "yes\n" + want},
		{"other selectors", "", in(fine, "b"), []*v1.TemplateController{selects(named(t, "other"))}, "yes"},
		{
			"several others: the first, and how many more", "", fine,
			[]*v1.TemplateController{named(t, "some"), named(t, "apps"), named(t, "other"), named(t, "third")}, "yes\n" + want + "\n2 more TemplateControllers write the same ready condition",
		},
		{"a refused write has no warnings", "", wrong, []*v1.TemplateController{named(t, "other")}, "no: " + wrongText},
		{"a long name", "", fine, []*v1.TemplateController{named(t, long)}, "yes\nspec.watch.kind: TemplateController aaa"},
	} {
		t.Run(row.why, func(t *testing.T) {
			h := newHandler(&Handler{Check: compile, Others: func(kind schema.GroupKind) iter.Seq[*v1.TemplateController] {
				if kind != (schema.GroupKind{Group: "example.org", Kind: "App"}) {
					t.Errorf("asked for %s", kind)
				}
				return slices.Values(row.others)
			}})
			got := ask(t, h, row.before, row.after)
			if row.others[0].Name == long {
				if len(got.Warnings) != 1 || len(got.Warnings[0]) > maxWarningLength || !strings.HasPrefix(outcomeOf(got), row.want) {
					t.Errorf("the answer is %q", outcomeOf(got))
				}
				return
			}
			if diff := cmp.Diff(row.want, outcomeOf(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The lint findings of the TemplateController are truncated, but this warning never is.
func TestSharedConditionWarningIsNotTruncated(t *testing.T) {
	many := func(_, _ context.Context, _ *v1.TemplateController) (all []finding.Finding) {
		for line := range 50 {
			all = append(all, finding.Finding{Code: "TL999", Severity: finding.Warning, Where: "children[maps]", Line: line + 1, Message: strings.Repeat("long ", 100)})
		}
		return all
	}
	h := newHandler(&Handler{Check: many, Others: func(schema.GroupKind) iter.Seq[*v1.TemplateController] {
		return slices.Values([]*v1.TemplateController{named(t, "other"), named(t, "some")})
	}})
	r := ask(t, h, "", fine)
	if len(r.Warnings) != maxWarnings+3 || !strings.Contains(r.Warnings[maxWarnings+1], "TemplateController other also writes") {
		t.Errorf("the answer is %q", r.Warnings)
	}
	if bytes := len(strings.Join(r.Warnings, "")); bytes > 4096 {
		t.Errorf("the warnings have %d bytes, of which the API server drops some", bytes)
	}
}

// TestTimedOutReviewReadsNoOtherTemplateControllers: ctx is done during the check, or while the first other
// TemplateController is read.
func TestTimedOutReviewReadsNoOtherTemplateControllers(t *testing.T) {
	for why, row := range map[string]struct {
		during string
		want   int
	}{"during the check": {"check", 0}, "while others are read": {"others", 1}} {
		t.Run(why, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			end := func(during string) {
				if during == row.during {
					cancel()
				}
			}
			read := 0
			h := newHandler(&Handler{
				Check: func(_, _ context.Context, _ *v1.TemplateController) []finding.Finding { end("check"); return nil },
				Others: func(schema.GroupKind) iter.Seq[*v1.TemplateController] {
					return func(yield func(*v1.TemplateController) bool) {
						for _, name := range []string{"other", "some", "third"} {
							read++
							end("others")
							if !yield(named(t, name)) {
								return
							}
						}
					}
				},
			})
			r := &request{Operation: admissionv1.Create}
			r.Object.Raw = raw(t, fine)
			if out := h.look(ctx, r); out.err != nil || len(out.response.Warnings) > 0 || read != row.want {
				t.Errorf("%d are read, want %d: %+v", read, row.want, out)
			}
		})
	}
}
