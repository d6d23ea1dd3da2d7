package document

import "strings"

// Costs of parsing YAML, in units of work. They were found by parsing random text, and cover the worst case:
// see TestParsingIsCharged.
const (
	costParser    = 24_000 // a parser, with its buffers
	costByte      = 6
	costWord      = 20   // white space, which a word may follow
	costLine      = 80   // a line end
	costKey       = 200  // the : after a key, or the - before an item
	costIndicator = 560  // any other : ? or -, which more may follow on the same line
	costInFlow    = 800  // any of these after the first bracket or brace
	costComma     = 1000 // within brackets and braces, the parser may keep all tokens until the last
	costBracket   = 1400
	costClosing   = 320
	costQuote     = 300
	costProperty  = 380 // an alias, an anchor or a tag
	costComment   = 700
	costEnd       = 400 // ... at the beginning of a line, which ends a document
)

// parsingCost returns the cost of parsing content, in time and memory. The parser's allocations depend
// on the number of tokens, which cannot exceed the number of characters that begin one.
func parsingCost(content string) int {
	cost, flow := costParser+costByte*len(content), false
	for i := range len(content) {
		switch c := content[i]; c {
		case ' ', '\t':
			cost += costWord
		case '\n', '\r':
			if cost += costLine; strings.HasPrefix(content[i+1:], "---\n") { // brackets end with the document
				flow = false
			}
		case ':', '?', '-':
			cost += indicatorCost(content, i, flow)
		case ',':
			cost += costComma
		case '[', '{':
			cost += costBracket
			flow = true
		case ']', '}':
			cost += costClosing
		case '\'', '"':
			if begins(content, i) {
				cost += costQuote
			}
		case '*', '&', '!':
			if begins(content, i) {
				cost += costProperty
			}
		case '#':
			if begins(content, i) {
				cost += costComment
			}
		case '.':
			cost += endCost(content, i)
		case 0x85, 0xa8, 0xa9:
			if endsLine(content[:i+1]) {
				cost += costLine
			}
		}
	}
	return cost
}

// endCost returns the cost of the . at offset i.
func endCost(content string, i int) int {
	if strings.HasPrefix(content[i:], "...") && (i == 0 || content[i-1] == '\n' || content[i-1] == '\r') {
		return costEnd
	}
	return 0
}

// indicatorCost returns the cost of the : ? or - at offset i.
func indicatorCost(content string, i int, flow bool) int {
	switch {
	case !indicates(content, i):
		return 0
	case flow:
		return costInFlow
	case simple(content, i):
		return costKey
	}
	return costIndicator
}

// indicates reports whether the : ? or - at offset i may be more than part of a word.
func indicates(content string, i int) bool {
	if i+1 == len(content) || isGap(content[i+1]) {
		return true
	}
	return content[i] == ':' && (strings.IndexByte(",[]{}", content[i+1]) >= 0 ||
		i == 0 || isGap(content[i-1]) || strings.IndexByte(`'"]}`, content[i-1]) >= 0)
}

// simple reports whether the : at offset i directly follows a key, or the - is the first character of
// its line, possibly after a few spaces.
func simple(content string, i int) bool {
	switch content[i] {
	case ':':
		return i > 0 && !isGap(content[i-1])
	case '-':
		const longest = 40
		for n := i - 1; n >= 0 && i-n < longest; n-- {
			if content[n] != ' ' {
				return content[n] == '\n'
			}
		}
	}
	return false
}

// begins reports whether a token may begin at offset i.
func begins(content string, i int) bool {
	return i == 0 || isGap(content[i-1]) || strings.IndexByte(`'"[]{},`, content[i-1]) >= 0
}
