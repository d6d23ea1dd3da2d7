package pattern

import "github.com/templater-dev/templater/internal/render/budget"

// What matching costs in units of work.
const (
	costOfByte  = 4 // a byte of the text,
	costOfTry   = 2 // and an instruction tried on it
	costOfMatch = 160
)

// Cost is that of looking for a match in s, in units of work.
func (p *Pattern) Cost(s string) int { return len(s) * (costOfByte + costOfTry*p.size) }

// Matches returns where at most n matches in s are, or all if n is negative,
// and pays for finding them twice: a caller may have regexp do it again. The error is that of the budget.
func (p *Pattern) Matches(s string, n int, b *budget.Meter) ([][]int, error) {
	if err := b.ChargeFor(2, p.Cost(s)); err != nil {
		return nil, err
	}
	if n < 0 {
		n = len(s) + 1
	}
	some, each := 16, 0 // matches to look for at first, and the time of each
	if p.far {
		some, each = 1, 2*p.Cost(s)
	}
	for ; ; some *= 4 {
		some = min(some, n)
		if err := b.ChargeFor(some, each+costOfMatch); err != nil {
			return nil, err
		}
		if found := p.FindAllStringIndex(s, some); len(found) < some || some == n {
			return found, nil
		}
	}
}
