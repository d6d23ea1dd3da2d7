package docs

import (
	"regexp"
	"strings"
	"testing"
)

// words are those that others use, and what the pages for users say in their place: docs/concepts/glossary.md.
var words = []struct{ others, ours string }{
	{"custom resource", "parent, or custom kind"},
	{"owned object", "child"},
	{"dependent object", "child"},
	{"reconcil", "pass, or what it does"},
	{"permission", "right"},
	{"garbage-collect", "the garbage collector deletes"},
}

// mayUse are pages that use such words on purpose: what they mean, how readers find them, and other tools.
var mayUse = regexp.MustCompile(`^docs/(concepts/glossary\.md|how-to/rights\.md|how-to/coming-from/|contributing/)`)

// notWords is what is no text of a page: code, and where links lead.
var notWords = regexp.MustCompile("(?ms)^```.*?^```$|^    .*?$|`[^`]*`|\\]\\([^)]*\\)")

func TestPagesUseTheWordsOfTheGlossary(t *testing.T) {
	for _, page := range allPages(t) {
		if !strings.HasPrefix(page, "docs/") || mayUse.MatchString(page) {
			continue
		}
		text := strings.ToLower(notWords.ReplaceAllString(read(t, page), ""))
		for _, word := range words {
			if found := regexp.MustCompile(`.*\b` + word.others + `.*`).FindString(text); found != "" {
				t.Errorf("%s: %q is in %s: the glossary says %s", page, word.others, found, word.ours)
			}
		}
	}
}
