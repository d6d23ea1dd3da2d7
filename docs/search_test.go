package docs

import (
	"regexp"
	"strings"
	"testing"
)

// searches are what a newcomer types into the search of the site, and a page that must be found. All words have to be in one part of it, or in its title.
var searches = []struct{ words, page string }{
	{"getting started", "README"},
	{"tutorial", "tutorial/README"},
	{"vulnerability", "README"},
	{"custom resource", "concepts/glossary"},
	{"owner reference", "concepts/reconciling"},
	{"reconcile", "concepts/reconciling"},
	{"drift", "concepts/reconciling"},
	{"rollback", "how-to/change-safely"},
	{"canary", "how-to/change-safely"},
	{"approval", "how-to/change-safely"},
	{"multi-cluster", "reference/not-supported"},
	{"multi-tenant", "operate/service-accounts"},
	{"permissions", "how-to/permissions"},
	{"rbac", "how-to/permissions"},
	{"air-gapped", "operate/install"},
	{"macos", "operate/install"},
	{"uninstall", "operate/install"},
	{"upgrade", "operate/install"},
	{"openshift", "operate/install"},
	{"install helm", "operate/install"},
	{"krew", "operate/install"},
	{"prometheus", "operate/metrics"},
	{"leader election", "operate/high-availability"},
	{"memory limit", "operate/performance"},
	{"finalizer", "concepts/order"},
	{"cascade", "concepts/order"},
	{"quota", "how-to/cookbook/namespace-defaults/README"},
	{"hpa", "how-to/cookbook/web-application/README"},
	{"exit code", "how-to/cookbook/jobs/README"},
	{"kubebuilder", "how-to/coming-from/README"},
	{"vscode", "how-to/editors"},
	{"github actions", "reference/commands/README"},
	{"junit", "how-to/testing"},
	{"forbidden", "reference/reasons"},
	{"missing value", "reference/templates"},
}

var parting = regexp.MustCompile(`(?m)^#{2,4} `)

func TestPagesContainSearchTerms(t *testing.T) {
	for _, search := range searches {
		text := strings.ToLower(read(t, "docs/"+search.page+".md"))
		title, _, _ := strings.Cut(text, "\n")
		if !anyPartHas(title, parting.Split(text, -1), strings.Fields(search.words)) {
			t.Errorf("docs/%s.md is not found by %q: have one of its parts say these words", search.page, search.words)
		}
	}
}

// anyPartHas reports whether a part of a page has all words that the title of the page has not.
func anyPartHas(title string, parts, words []string) bool {
	for _, part := range parts {
		missing := false
		for _, word := range words {
			missing = missing || !strings.Contains(title, word) && !strings.Contains(part, word)
		}
		if !missing {
			return true
		}
	}
	return false
}
