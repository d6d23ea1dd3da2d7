package data

import (
	"errors"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/budget"
)

func TestUnboundedRepetitionIsDetected(t *testing.T) {
	for text, want := range map[string]bool{"a{20}b": false, "a(.*b)?": true, "a.*b": false, "(a|b{16})c": false, "(a|b{17})c": true, "(?:a(b{17}))?": true, "a(b{17})": false, "(?:(?:a{9}|b)(?:c{9}|d))?": true} {
		tree, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if got := looksFar(tree, false); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestExpressionSizeIsLimited has expressions of just as many instructions as are compiled, and of one more.
func TestExpressionSizeIsLimited(t *testing.T) {
	for more, want := range map[int]error{0: nil, 1: errors.New("the expression is too large; use smaller repetition counts")} {
		text, size := "", 0
		for n := 1; size < largestExpression+more; n++ {
			text = "a{990}" + strings.Repeat("c", n)
			tree, err := syntax.Parse(text, syntax.Perl)
			if err != nil {
				t.Fatal(err)
			}
			size = instructions(tree)
		}
		b := budget.Meter{Work: budget.MaxWork}
		if p, err := new(Patterns).Compile(text, &b); (p != nil) != (want == nil) || want != nil && (err == nil || err.Error() != want.Error()) {
			t.Errorf("%s, of %d: %v", text, size, err)
		}
	}
}

// TestPatternIsCompiledOnce pays for a pattern the first time alone, and not at all without work left.
func TestPatternIsCompiledOnce(t *testing.T) {
	var c Patterns
	b := budget.Meter{Work: 300}
	if _, err := c.Compile("ab", &b); !errors.Is(err, budget.ErrWork) || c != nil {
		t.Errorf("for what the text costs alone: %v, %v is kept", err, c)
	}
	b = budget.Meter{Work: 1000}
	first, err := c.Compile("ab", &b)
	if err != nil {
		t.Fatal(err)
	}
	left := b.Work
	if again, err := c.Compile("ab", &b); err != nil || again != first || b.Work != left {
		t.Errorf("again: %v, %v, %d units are left, want %d", again, err, b.Work, left)
	}
	for _, text := range []string{"(", strings.Repeat("a", longestExpression+1)} {
		if p, err := c.Compile(text, &budget.Meter{Work: budget.MaxWork}); p != nil || err == nil {
			t.Errorf("%.9s: %v, %v", text, p, err)
		}
	}
}

// TestMatchesRejectsTooMuchText looks for one match in more text than can ever be paid for.
func TestMatchesRejectsTooMuchText(t *testing.T) {
	b := budget.Meter{Work: budget.MaxWork}
	p, err := new(Patterns).Compile("a", &b)
	if err != nil {
		t.Fatal(err)
	}
	s := strings.Repeat("a", budget.MaxWork/p.Cost("a"))
	if found, err := p.Matches(s, 1, &b); !errors.Is(err, budget.ErrWork) || found != nil {
		t.Errorf("%v, %v", found, err)
	}
}

// TestMatchesAreLimitedAndCharged finds as many as are asked for, if they can be paid for.
func TestMatchesAreLimitedAndCharged(t *testing.T) {
	var c Patterns
	for _, text := range []string{"a", "a(.*bbbbbbbbbbbbbbbbb)?"} {
		b := budget.Meter{Work: budget.MaxWork}
		p, err := c.Compile(text, &b)
		if err != nil {
			t.Fatal(err)
		}
		s := strings.Repeat("ac", 100)
		for n, want := range map[int]int{-1: 100, 0: 0, 1: 1, 17: 17, 100: 100, 101: 100} {
			if found, err := p.Matches(s, n, &b); err != nil || len(found) != want {
				t.Errorf("%s: %d matches of %d, want %d; %v", text, len(found), n, want, err)
			}
		}
		if found, err := p.Matches(s, -1, &budget.Meter{Work: 2*p.Cost(s) + costOfMatch}); !errors.Is(err, budget.ErrWork) || found != nil {
			t.Errorf("%s, with too little work left: %v, %v", text, found, err)
		}
		if found, err := p.Matches(s, -1, &budget.Meter{}); !errors.Is(err, budget.ErrWork) || found != nil {
			t.Errorf("%s, without any work left: %v, %v", text, found, err)
		}
	}
}
