package funcs

import (
	"encoding/base32"
	"encoding/base64"
	"math"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// row is one function of the table, under one or more names.
type row struct {
	names string // separated by spaces
	// takes are the types of the arguments, a letter each. ? is behind one that may be left out, * behind one of any number, and +
	// behind one of any number but 0. yields is the type of the result, and the second letter that of the items of a list or map.
	takes, yields string
	source        string
	rendered      syntax.Treatment
	traits        syntax.Trait
	doc           string
	// do calls it. What it costs beside a call, its arguments and its result is told by text1, escaper and paid, or in the function itself.
	do func(*data.Call) any
}

// The words of the table.
const (
	fromGo    = "text/template"
	fromSprig = "sprig"
	own       = "templater"

	expands = syntax.Expands
	keeps   = syntax.Keeps
	passes  = syntax.Passes
	parses  = syntax.Parses

	computes  = syntax.Computes
	appends   = syntax.Appends
	asks      = syntax.Asks
	fallsBack = syntax.FallsBack
	encodes   = syntax.Encodes
	manyLines = syntax.ManyLines
	quotes    = syntax.Quotes
	spaces    = syntax.WhiteSpace
)

// table are all functions that templates may call: the only place that says what they take, yield, cost and do to text.
var table = []row{
	// What decides, fails and waits. The executor itself does and, or and include, and has nothing to call here.
	{"and", "A+", "a", fromGo, passes, 0, "the first argument that is not true, or the last", nil},
	{"or", "A+", "a", fromGo, passes, fallsBack, "the first argument that is true, or the last", nil},
	{"include", "ta", "t", own, keeps, manyLines, "what the template of that name yields with the second argument as its dot", nil},
	{"required", "AA", "a", own, passes, asks, "the second argument; if it is missing or empty, rendering fails with the first as its message", required},
	{"fail", "t", "a", fromSprig, expands, 0, "nothing: rendering fails with this message, until something changes", func(c *data.Call) any { return stop(c, syntax.Fail) }},
	{"wait", "t", "a", own, expands, 0, "nothing: children are left unchanged and the parent is not ready, for this reason", func(c *data.Call) any { return stop(c, syntax.Wait) }},

	// Comparing and choosing.
	{"eq", "AA+", "b", fromGo, expands, 0, "whether the first argument equals any of the others", equalsAny},
	{"ne", "AA", "b", fromGo, expands, 0, "whether the arguments differ", func(c *data.Call) any { return !equal(c, 0, 1) }},
	{"not", "A", "b", fromGo, expands, asks, "whether the argument is false, 0, empty or missing", func(c *data.Call) any { return !data.Truth(c.Args[0], &c.Table) }},
	{"lt", "oo", "b", fromGo, expands, 0, "whether the first argument is less than the second", func(c *data.Call) any { return compare(c) < 0 }},
	{"le", "oo", "b", fromGo, expands, 0, "whether the first argument is at most the second", func(c *data.Call) any { return compare(c) <= 0 }},
	{"gt", "oo", "b", fromGo, expands, 0, "whether the first argument is greater than the second", func(c *data.Call) any { return compare(c) > 0 }},
	{"ge", "oo", "b", fromGo, expands, 0, "whether the first argument is at least the second", func(c *data.Call) any { return compare(c) >= 0 }},
	{"len", "c", "i", fromGo, expands, 0, "the number of items, entries or bytes", length},
	{"default", "AA?", "a", fromSprig, passes, fallsBack, `the second argument, or the first if the second is missing, "", [] or {}; 0 and false stay`, fallback},
	{"coalesce", "A*", "a", fromSprig, passes, fallsBack, "the first argument that is not empty, or nothing", coalesce},
	{"ternary", "AAB", "a", fromSprig, passes, fallsBack, "the first argument if the third is true, else the second", ternary},
	{"empty", "A", "b", fromSprig, expands, asks, `whether the argument is missing, "", [] or {}`, func(c *data.Call) any { return data.Empty(c.Args[0], &c.Table) }},
	{"all", "a*", "b", fromSprig, expands, 0, "whether if takes all arguments as true", func(c *data.Call) any { return count(c) == len(c.Args) }},
	{"any", "a*", "b", fromSprig, expands, 0, "whether if takes an argument as true", func(c *data.Call) any { return count(c) > 0 }},
	{"deepEqual", "aa", "b", fromSprig, expands, 0, "whether the arguments are equal, with all they contain", func(c *data.Call) any { return same(c, c.Args[0], c.Args[1]) }},
	{"kindOf", "a", "t", fromSprig, expands, 0, "string, bool, int64, float64, slice or map", func(c *data.Call) any { return goKind(c.Args[0]) }},
	{"kindIs", "ta", "b", fromSprig, expands, 0, "whether the kind of the second argument is the first", func(c *data.Call) any { return c.Str(0) == goKind(c.Args[1]) }},
	{"typeOf", "a", "t", fromSprig, expands, 0, "the Go type", func(c *data.Call) any { return goType(c.Args[0]) }},
	{"typeIs typeIsLike", "ta", "b", fromSprig, expands, 0, "whether the Go type of the second argument is the first", func(c *data.Call) any { return c.Str(0) == goType(c.Args[1]) }},

	// Numbers.
	{"add", "i*", "i", fromSprig, expands, computes, "the sum of whole numbers", func(c *data.Call) any { return fold(c, 0, 0, addInt) }},
	{"add1", "i", "i", fromSprig, expands, computes, "the whole number plus 1", func(c *data.Call) any { return combined(c, c.Integer(0), 1, addInt) }},
	{"sub", "ii", "i", fromSprig, expands, computes, "the first whole number minus the second", func(c *data.Call) any { return combined(c, c.Integer(0), c.Integer(1), subInt) }},
	{"mul", "i+", "i", fromSprig, expands, computes, "the product of whole numbers", func(c *data.Call) any { return fold(c, 1, 0, mulInt) }},
	{"div", "ii", "i", fromSprig, expands, 0, "the first whole number divided by the second, without a remainder", func(c *data.Call) any { return divide(c, func(a, b int64) int64 { return a / b }) }},
	{"mod", "ii", "i", fromSprig, expands, 0, "the remainder of that division", func(c *data.Call) any { return divide(c, func(a, b int64) int64 { return a % b }) }},
	{"max biggest", "i+", "i", fromSprig, expands, 0, "the greatest whole number", func(c *data.Call) any {
		return fold(c, c.Integer(0), 1, func(a, b int64) (int64, bool) { return max(a, b), true })
	}},
	{"min", "i+", "i", fromSprig, expands, 0, "the least whole number", func(c *data.Call) any {
		return fold(c, c.Integer(0), 1, func(a, b int64) (int64, bool) { return min(a, b), true })
	}},
	{"int int64", "n", "i", fromSprig, expands, 0, "the number without its fraction, or the text as a decimal number", toInt},
	{"atoi", "i", "i", fromSprig, expands, 0, "the text as a decimal number", func(c *data.Call) any { return c.Integer(0) }},
	{"float64", "n", "f", fromSprig, expands, 0, "the number, or the text as a number, in floating point", func(c *data.Call) any { return c.Float(0) }},
	{"toDecimal", "t", "i", fromSprig, expands, 0, "the text as an octal number", toDecimal},
	{"ceil", "n", "f", fromSprig, expands, 0, "the least whole number that is not less", func(c *data.Call) any { return math.Ceil(c.Float(0)) }},
	{"floor", "n", "f", fromSprig, expands, 0, "the greatest whole number that is not greater", func(c *data.Call) any { return math.Floor(c.Float(0)) }},
	{"round", "nin?", "f", fromSprig, expands, 0, "the number rounded to so many decimals", round},
	{"maxf", "n+", "f", fromSprig, expands, 0, "the greatest number", func(c *data.Call) any { return foldFloat(c, math.Max) }},
	{"minf", "n+", "f", fromSprig, expands, 0, "the least number", func(c *data.Call) any { return foldFloat(c, math.Min) }},
	{"addf", "n*", "f", fromSprig, expands, computes, "the sum", func(c *data.Call) any { return decimals(c, "addf", 0) }},
	{"add1f", "n", "f", fromSprig, expands, computes, "the number plus 1", func(c *data.Call) any { return finite(c, sprigFunc[func(any) float64]("add1f")(c.Float(0))) }},
	{"subf", "n+", "f", fromSprig, expands, computes, "the first number minus the others", func(c *data.Call) any { return decimals(c, "subf", 1) }},
	{"mulf", "n+", "f", fromSprig, expands, computes, "the product", func(c *data.Call) any { return decimals(c, "mulf", 1) }},
	{"divf", "n+", "f", fromSprig, expands, 0, "the first number divided by the others", divf},

	// Text.
	{"upper", "t", "t", fromSprig, expands, 0, "the text in upper case", text1(3, strings.ToUpper)},
	{"lower", "t", "t", fromSprig, expands, 0, "the text in lower case", text1(3, strings.ToLower)},
	{"title", "t", "t", fromSprig, expands, 0, "the text with each word's first letter in upper case", text1(3, sprigFunc[func(string) string]("title"))},
	{"untitle", "t", "t", fromSprig, expands, 0, "the text with each word's first letter in lower case", text1(3, sprigFunc[func(string) string]("untitle"))},
	{"swapcase", "t", "t", fromSprig, expands, 0, "the text with upper and lower case swapped", text1(3, sprigFunc[func(string) string]("swapcase"))},
	{"nospace", "t", "t", fromSprig, expands, 0, "the text without white space", text1(1, sprigFunc[func(string) string]("nospace"))},
	{"initials", "t", "t", fromSprig, expands, 0, "the first letters of the words", text1(1, sprigFunc[func(string) string]("initials"))},
	{"snakecase", "t", "t", fromSprig, expands, 0, "the text in snake_case", text1(8, sprigFunc[func(string) string]("snakecase"))},
	{"camelcase", "t", "t", fromSprig, expands, 0, "the text in CamelCase", text1(8, sprigFunc[func(string) string]("camelcase"))},
	{"kebabcase", "t", "t", fromSprig, expands, 0, "the text in kebab-case", text1(8, sprigFunc[func(string) string]("kebabcase"))},
	{"trimAll trimall", "tt", "t", fromSprig, expands, 0, "the second text without characters of the first at its ends", trimAll},
	{"trimSuffix", "tt", "t", fromSprig, expands, 0, "the second text without the first at its end", func(c *data.Call) any { return strings.TrimSuffix(c.Str(1), c.Str(0)) }},
	{"trimPrefix", "tt", "t", fromSprig, expands, 0, "the second text without the first at its beginning", func(c *data.Call) any { return strings.TrimPrefix(c.Str(1), c.Str(0)) }},
	{"contains", "tt", "b", fromSprig, expands, 0, "whether the second text contains the first", func(c *data.Call) any { return strings.Contains(c.Str(1), c.Str(0)) }},
	{"hasPrefix", "tt", "b", fromSprig, expands, 0, "whether the second text begins with the first", func(c *data.Call) any { return strings.HasPrefix(c.Str(1), c.Str(0)) }},
	{"hasSuffix", "tt", "b", fromSprig, expands, 0, "whether the second text ends with the first", func(c *data.Call) any { return strings.HasSuffix(c.Str(1), c.Str(0)) }},
	{"replace", "ttt", "t", fromSprig, expands, 0, "the third text with each first text replaced by the second", replace},
	{"repeat", "it", "t", fromSprig, expands, 0, "the second text, as often as the first argument says", repeat},
	{"trunc", "it", "t", fromSprig, expands, 0, "the first characters of the text or, if negative, the last", trunc},
	{"substr", "iit", "t", fromSprig, expands, 0, "the characters from the first position to before the second; a negative one means the end", substr},
	{"abbrev", "it", "t", fromSprig, expands, 0, "the text cut to a length, with ... at its end", abbrev},
	{"abbrevboth", "iit", "t", fromSprig, expands, 0, "the text cut at both ends, with ... there", abbrevboth},
	{"wrap", "it", "t", fromSprig, expands, 0, "the text with line ends after a number of characters", func(c *data.Call) any { return wrap(c, "\n", c.Str(1), false) }},
	{"wrapWith", "itt", "t", fromSprig, expands, 0, "the text with a separator after a number of characters", func(c *data.Call) any { return wrap(c, c.Str(1), c.Str(2), true) }},
	{"cat", "t+", "t", fromSprig, expands, computes, "the texts with spaces between them", func(c *data.Call) any { return joinArgs(c, " ") }},
	{"plural", "aai", "t", fromSprig, expands, 0, "the first text if the number is 1, else the second", plural},
	{"toString", "t", "t", fromSprig, expands, 0, "a number, a boolean or a text as text", func(c *data.Call) any { return c.Str(0) }},
	{"hello", "", "t", fromSprig, expands, 0, "a greeting", func(*data.Call) any { return "Hello!" }},
	{"print", "t*", "t", fromGo, expands, computes, "the texts one after the other, with spaces between operands that are not strings", func(c *data.Call) any { return printed(c) }},
	{"println", "t*", "t", fromGo, expands, 0, "the texts with spaces between them and a line end", func(c *data.Call) any { return joinArgs(c, " ") + "\n" }},
	{"html", "t*", "t", fromGo, expands, 0, "the texts, put together as by print, with HTML's special characters escaped", escaper(6, template.HTMLEscapeString)},
	{"js", "t*", "t", fromGo, expands, 0, "the texts, put together as by print, as they stand between quotes in JavaScript", escaper(6, template.JSEscapeString)},
	{"urlquery", "t*", "t", fromGo, expands, 0, "the texts, put together as by print, as they stand in the query of a URL", escaper(3, url.QueryEscape)},
	{"trim", "t", "t", fromSprig, keeps, spaces, "the text without white space at its ends", trim},
	{"indent", "it", "t", fromSprig, keeps, manyLines | spaces, "the text with its lines indented", func(c *data.Call) any { return indent(c, "") }},
	{"nindent", "it", "t", fromSprig, keeps, manyLines | spaces, "the text on a new line with its lines indented", func(c *data.Call) any { return indent(c, "\n") }},
	{"quote", "t+", "t", fromSprig, keeps, quotes, "the texts in double quotes", func(c *data.Call) any { return quoted(c, '"', token.DoubleQuoted) }},
	{"squote", "t+", "t", fromSprig, keeps, quotes, "the texts in single quotes", func(c *data.Call) any { return quoted(c, '\'', token.SingleQuoted) }},
	{"dnsLabel", "t", "t", own, expands, 0, "a valid name of at most 63 characters; one that differs from the text ends with a hash of it", dnsLabel},
	{"shellQuote", "t", "t", own, keeps, 0, "the text as one word of a POSIX shell", shellQuote},
	{"printf", "ta*", "t", fromGo, expands, computes, "the arguments in the format, the first argument", printf},

	// Regular expressions, in the syntax of RE2.
	{"regexMatch mustRegexMatch", "tt", "b", fromSprig, expands, 0, "whether the text, the second argument, matches the expression", regexMatch},
	{"regexFind mustRegexFind", "tt", "t", fromSprig, expands, 0, "the first match in the text, or empty text", regexFind},
	{"regexFindAll mustRegexFindAll", "tti", "lt", fromSprig, expands, 0, "at most so many matches, or all if the number is negative", regexFindAll},
	{"regexSplit mustRegexSplit", "tti", "lt", fromSprig, expands, 0, "the parts of the text between matches", regexSplit},
	{"regexReplaceAll mustRegexReplaceAll", "ttt", "t", fromSprig, expands, 0, "the text, the second argument, with matches replaced by the third, in which $1 is a group", func(c *data.Call) any { return regexReplace(c, (*regexp.Regexp).ReplaceAllString, true) }},
	{"regexReplaceAllLiteral mustRegexReplaceAllLiteral", "ttt", "t", fromSprig, expands, 0, "the same without $1", func(c *data.Call) any { return regexReplace(c, (*regexp.Regexp).ReplaceAllLiteralString, false) }},
	{"regexQuoteMeta", "t", "t", fromSprig, expands, 0, "an expression that matches the text itself", text1(2, regexp.QuoteMeta)},

	// Hashes, encodings, paths and versions.
	{"sha1sum", "t", "t", fromSprig, expands, 0, "the SHA-1 hash in hexadecimal", text1(1, hash1)},
	{"sha256sum", "t", "t", fromSprig, expands, 0, "the SHA-256 hash in hexadecimal", text1(1, hash256)},
	{"sha512sum", "t", "t", fromSprig, expands, 0, "the SHA-512 hash in hexadecimal", text1(1, hash512)},
	{"adler32sum", "t", "t", fromSprig, expands, 0, "the Adler-32 checksum in decimal", text1(1, sprigFunc[func(string) string]("adler32sum"))},
	{"b64enc", "t", "t", fromSprig, expands, 0, "the text in base64", text1(2, func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) })},
	{"b32enc", "t", "t", fromSprig, expands, 0, "the text in base32", text1(2, func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) })},
	{"b64dec", "t", "t", fromSprig, expands, 0, "the text that was encoded in base64", func(c *data.Call) any { return decoded(c, base64.StdEncoding.DecodeString) }},
	{"b32dec", "t", "t", fromSprig, expands, 0, "the text that was encoded in base32", func(c *data.Call) any { return decoded(c, base32.StdEncoding.DecodeString) }},
	{"base", "t", "t", fromSprig, expands, 0, "the last element of the path", text1(1, path.Base)},
	{"dir", "t", "t", fromSprig, expands, 0, "the path without its last element", text1(1, path.Dir)},
	{"clean", "t", "t", fromSprig, expands, 0, "the shortest equal path", text1(1, path.Clean)},
	{"ext", "t", "t", fromSprig, expands, 0, "the path's extension", text1(1, path.Ext)},
	{"isAbs", "t", "b", fromSprig, expands, 0, "whether the path is absolute", func(c *data.Call) any { return path.IsAbs(c.Str(0)) }},
	{"urlParse", "t", "mt", fromSprig, expands, 0, "a map of the parts of a URL", urlParse},
	{"urlJoin", "m", "t", fromSprig, expands, 0, "the URL of a map of its parts", urlJoin},
	{"semver", "t", "ma", fromSprig, expands, 0, "a map of Major, Minor, Patch, Prerelease, Metadata and Original of a version", paid(costVersion, semver)},
	{"semverCompare", "tt", "b", fromSprig, expands, 0, "whether the version, the second argument, satisfies the constraint, the first", paid(costVersion, semverCompare)},
	{"duration", "i", "t", fromSprig, expands, 0, "a number of seconds as text such as 1m35s", duration},
	{"durationRound", "o", "t", fromSprig, expands, 0, "a duration in its largest unit", durationRound},
	{"toYaml", "A", "t", own, expands, encodes | manyLines, "the value as YAML", toYAML},
	{"toJson mustToJson toRawJson mustToRawJson", "A", "t", fromSprig, expands, encodes, "the value as JSON", func(c *data.Call) any { return toJSON(c, false) }},
	{"toPrettyJson mustToPrettyJson", "A", "t", fromSprig, expands, encodes | manyLines, "the value as JSON on several lines", func(c *data.Call) any { return toJSON(c, true) }},
	{"fromYaml", "t", "a", own, parses, 0, "the value that the YAML stands for", fromYAML},
	{"fromJson mustFromJson", "t", "a", fromSprig, parses, 0, "the value that the JSON stands for", paid(costJSON, fromJSON)},

	// Lists.
	{"append push mustAppend mustPush", "la", "l", fromSprig, passes, computes | appends, "the list with an item at its end", func(c *data.Call) any { return listOf(c, c.List(0), c.Args[1:]) }},
	{"prepend mustPrepend", "la", "l", fromSprig, passes, computes, "the list with an item at its beginning", func(c *data.Call) any { return listOf(c, c.Args[1:], c.List(0)) }},
	{"concat", "l+", "l", fromSprig, passes, computes, "the lists one after the other", concat},
	{"last mustLast", "l", "a", fromSprig, passes, 0, "the last item, or nothing if the list is empty", func(c *data.Call) any { return itemOf(c.List(0), -1) }},
	{"rest mustRest", "l", "l", fromSprig, passes, 0, "all items but the first", func(c *data.Call) any { return part(c, 1, 0) }},
	{"initial mustInitial", "l", "l", fromSprig, passes, 0, "all items but the last", func(c *data.Call) any { return part(c, 0, 1) }},
	{"reverse mustReverse", "l", "l", fromSprig, passes, 0, "the items in reverse order", reverse},
	{"compact mustCompact", "l", "l", fromSprig, passes, 0, "the items that are not empty", func(c *data.Call) any { return filter(c, 0, func(v any) bool { return !data.Empty(v, &c.Table) }) }},
	{"uniq mustUniq", "l", "l", fromSprig, passes, 0, "the items without those that equal an earlier one", uniq},
	{"without mustWithout", "la*", "l", fromSprig, passes, 0, "the list without the items given", without},
	{"slice mustSlice", "si?i?", "a", fromSprig, passes, 0, "the items, or characters, from a position to before another", slice},
	{"chunk mustChunk", "il", "ll", fromSprig, passes, 0, "the items in lists of a given length", chunk},
	{"list tuple", "A*", "l", fromSprig, passes, computes, "a list of the arguments", func(c *data.Call) any { return listOf(c, c.Args, nil) }},
	{"first mustFirst", "L", "a", fromSprig, passes, 0, "the first item, or nothing if the list is empty", func(c *data.Call) any { return itemOf(c.List(0), 0) }},
	{"has mustHas", "AL", "b", fromSprig, passes, 0, "whether the list, the second argument, has an item equal to the first", func(c *data.Call) any {
		return slices.ContainsFunc(c.List(1), func(v any) bool { return same(c, c.Args[0], v) })
	}},
	{"join", "aa", "t", fromSprig, expands, 0, "the items as text with the first argument between them", joinList},
	{"sortAlpha", "l", "lt", fromSprig, expands, 0, "the items as text in order", sortAlpha},
	{"toStrings", "l", "lt", fromSprig, expands, 0, "the items as text", func(c *data.Call) any { return stringList(c, texts(c, 0)) }},
	{"split", "tt", "mt", fromSprig, expands, 0, "a map _0, _1, … of what the first text separates in the second", split},
	{"splitn", "tit", "mt", fromSprig, expands, 0, "like split, of at most a number of parts", splitn},
	{"splitList", "tt", "lt", fromSprig, expands, 0, "a list of what the first text separates in the second", func(c *data.Call) any { return stringList(c, splitParts(c, c.Str(0), c.Str(1), -1)) }},
	{"seq", "i?i?i?", "t", fromSprig, expands, 0, "whole numbers as text, with spaces between them", seq},
	{"until", "i", "li", fromSprig, expands, 0, "a list of the whole numbers from 0 to before the argument", func(c *data.Call) any { return numbers(c, 0, c.Integer(0), 1) }},
	{"untilStep", "iii", "li", fromSprig, expands, 0, "a list of the whole numbers from the first to before the second, by the third", func(c *data.Call) any { return numbers(c, c.Integer(0), c.Integer(1), c.Integer(2)) }},

	// Maps.
	{"get", "mt", "a", fromSprig, passes, 0, "the value of a key, or nothing", func(c *data.Call) any { return lookup(c, c.Args[0], c.Str(1)) }},
	{"set", "mta", "m", fromSprig, passes, 0, "a copy of the map in which a key has a value", set},
	{"unset", "mt", "m", fromSprig, passes, 0, "a copy of the map without a key", unset},
	{"hasKey", "mt", "b", fromSprig, passes, asks, "whether the map has a key", hasKey},
	{"pluck", "tm+", "l", fromSprig, passes, 0, "the values of a key in each of the maps that has it", pluck},
	{"pick", "mt*", "m", fromSprig, passes, 0, "a map of only the keys given", pick},
	{"omit", "mt*", "m", fromSprig, passes, 0, "a copy of the map without the keys given", omit},
	{"keys", "m+", "lt", fromSprig, passes, 0, "the keys of the maps, in order", keys},
	{"values", "m", "l", fromSprig, passes, 0, "the values of the map, in the order of its keys", values},
	{"merge mustMerge", "m+", "m", fromSprig, passes, 0, "a new map of all keys; earlier maps win", func(c *data.Call) any { return mergeAll(c, false) }},
	{"mergeOverwrite mustMergeOverwrite", "m+", "m", fromSprig, passes, 0, "a new map of all keys; later maps win", func(c *data.Call) any { return mergeAll(c, true) }},
	{"deepCopy mustDeepCopy", "a", "a", fromSprig, passes, 0, "the value itself, because values are immutable", func(c *data.Call) any { return c.Args[0] }},
	{"dig", "aaa+", "a", fromSprig, passes, 0, "the value at a path of keys in the last argument, or else the default before it", dig},
	{"dict", "A*", "m", fromSprig, passes, 0, "a map of keys and values", dict},
	{"index", "A+", "a", fromGo, passes, 0, "the value at a path of keys and positions, or nothing", index},

	// Objects.
	{"where", "tAL", "l", own, passes, 0, "the objects of a list, the third argument, whose field at a path, the first, equals the second", func(c *data.Call) any { return where(c, true) }},
	{"whereNot", "tAL", "l", own, passes, 0, "the objects whose field at a path does not equal the second argument", func(c *data.Call) any { return where(c, false) }},
	{"collect", "tL", "l", own, passes, 0, "the values at a path in the objects of a list; missing values are omitted", collect},
	{"sortBy", "tL", "l", own, passes, 0, "the objects of a list in the order of their values at a path", sortBy},
	{"named", "AL", "a", own, passes, 0, "the object of that metadata.name in a list, or nothing", named},
	{"condition", "AM", "a", own, passes, 0, `the status of an object's condition of that type, such as "True", or nothing`, condition},
	{"ready", "M", "b", own, passes, 0, "whether the object is ready", paid(costReady, ready)},
	{"logs", "M", "mt", own, passes, 0, "the end of the log of each container of a Pod, by the container's name; one without a log is missing", paid(costLogs, logs)},
}
