package lint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
)

// ending is a context that ends when it was asked so often whether it has.
type ending struct {
	context.Context //nolint:containedctx // it is one

	after, asked int
}

func (e *ending) Err() error {
	if e.asked++; e.asked > e.after {
		return context.Canceled
	}
	return nil
}

// long are specs whose check asks often whether it is to go on.
func long() map[string]*v1.TemplateController {
	repeat := func(text string, bytes int) string { return strings.Repeat(text, bytes/len(text)) }
	with := func(number int, template string) *v1.TemplateController {
		tc := &v1.TemplateController{Spec: v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "apps/v1", Kind: "Deployment"}}}
		for i := range number {
			tc.Spec.Children = append(tc.Spec.Children, v1.Child{Name: fmt.Sprint("a", i), Template: template})
		}
		return tc
	}
	helper := with(64, `{{ include "h" . }}`)
	helper.Spec.Helpers = `{{ define "h" }}` + repeat("{{ .children.a0 }}", 100_000) + "{{ end }}"
	return map[string]*v1.TemplateController{
		"actions":                with(6, repeat("{{1}}", 13_000)),
		"arguments":              with(1, "{{ print"+repeat(" 1", 90_000)+" }}"),
		"mistakes in the syntax": with(12, repeat("{{1}}", 6_500)+"{{"),
		"a helper for all":       helper,
		"YAML":                   with(6, repeat("- a: {b: c}\n", 20_000)),
		"faults of YAML":         with(2, "a:\n"+repeat("{{ if .spec.x }}\n  a: 1\n{{ else }}\n  b: [1, {c: 2}]\n{{ end }}\n", 30_000)+"\n  a: b: c\n"),
		"fields":                 with(6, "apiVersion: v1\nkind: Pod\nspec:\n"+repeat("  hostNetwork: true\n", 30_000)),
	}
}

// TestCheckStopsWithContext ends checks at several places. What is left to do asks a few times more, if it has not been begun.
func TestCheckStopsWithContext(t *testing.T) {
	const mostLeft = 100
	for why, tc := range long() {
		t.Run(why, func(t *testing.T) {
			whole := &ending{Context: t.Context(), after: 1 << 30}
			if _, err := CheckWith(whole.Err, tc, openapi.BuiltIn()); err != nil {
				t.Fatal(err)
			}
			if whole.asked <= mostLeft {
				t.Errorf("it asks only %d times", whole.asked)
			}
			for part := range 10 {
				ctx := &ending{Context: t.Context(), after: whole.asked * part / 10}
				if _, err := CheckWith(ctx.Err, tc, openapi.BuiltIn()); !errors.Is(err, context.Canceled) {
					t.Fatalf("the error is %v", err)
				}
				if left := ctx.asked - ctx.after; left > mostLeft {
					t.Errorf("after %d of %d times, it asks %d times more", ctx.after, whole.asked, left)
				}
			}
		})
	}
}
