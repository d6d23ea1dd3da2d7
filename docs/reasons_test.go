package docs

import (
	"os"
	"strings"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
)

// TestStableReasonsAreDocumented holds the reasons that alerts match: their text is part of v1, and the page lists each.
func TestStableReasonsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("reference/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## Stable reasons\n")
	if section, _, _ = strings.Cut(section, "\n## "); !found {
		t.Fatal("the page has no section about promised reasons")
	}
	promised := map[string]string{
		v1.ReasonInvalidSpec: "InvalidSpec", v1.ReasonInvalidTemplate: "InvalidTemplate", v1.ReasonKindNotFound: "KindNotFound",
		v1.ReasonForbidden: "Forbidden", v1.ReasonSuspended: "Suspended", v1.ReasonParentsFailed: "ParentsFailed",
		v1.ReasonReady: "Ready", v1.ReasonProgressing: "Progressing", v1.ReasonWaiting: "Waiting", v1.ReasonTemplateError: "TemplateError",
		v1.ReasonChildConflict: "ChildConflict", v1.ReasonChildRejected: "ChildRejected", v1.ReasonChildForbidden: "ChildForbidden",
		v1.ReasonChildFailing: "ChildFailing", v1.ReasonFinalizing: "Finalizing", v1.ReasonTemplateControllerNotAccepted: "TemplateControllerNotAccepted",
	}
	for constant, text := range promised {
		t.Run(text, func(t *testing.T) {
			if constant != text {
				t.Errorf("the reason is %q now: it is promised as %q", constant, text)
			}
			if !strings.Contains(section, "`"+text+"`") {
				t.Error("the section does not list it")
			}
		})
	}
}
