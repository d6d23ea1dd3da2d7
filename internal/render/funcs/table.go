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
	// takes is the types of the arguments, one letter each, followed by ? if optional, * for any number, or + for at least one.
	// yields is the type of the result; a second letter is the type of the items of a list or map.
	takes, yields string
	source        string
	rendered      syntax.Treatment
	traits        syntax.Trait
	doc           string
	// do implements the function. Costs beyond the call, its arguments and its result are charged by text1, escaper, paid or do itself.
	do func(*data.Call) any
}

// Abbreviations for the table.
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

// table lists all functions that templates may call. It is the only definition of their types, costs and treatment of text.
var table = []row{
	// Control flow. The executor implements and, or and include itself, so these have no function here.
	{"and", "A+", "a", fromGo, passes, 0, "the first argument that is not true, or the last", nil},
	{"or", "A+", "a", fromGo, passes, fallsBack, "the first argument that is true, or the last", nil},
	{"include", "ta", "t", own, keeps, manyLines, "the output of the named template, executed with the second argument as dot", nil},
	{"required", "AA", "a", own, passes, asks, "the second argument; if it is missing or empty, rendering fails with the first argument as the message", required},
	{"fail", "t", "a", fromSprig, expands, 0, "nothing: rendering fails with this message until an input changes", func(c *data.Call) any { return stop(c, syntax.Fail) }},
	{"wait", "t", "a", own, expands, 0, "nothing: stops rendering, keeps the children unchanged, and reports the parent as Waiting with this message", func(c *data.Call) any { return stop(c, syntax.Wait) }},

	// Comparison and selection.
	{"eq", "AA+", "b", fromGo, expands, 0, "whether the first argument equals any of the others", equalsAny},
	{"ne", "AA", "b", fromGo, expands, 0, "whether the arguments differ", func(c *data.Call) any { return !equal(c, 0, 1) }},
	{"not", "A", "b", fromGo, expands, asks, "whether the argument is false, 0, empty or missing", func(c *data.Call) any { return !data.Truth(c.Args[0], &c.Table) }},
	{"lt", "oo", "b", fromGo, expands, 0, "whether the first argument is less than the second", func(c *data.Call) any { return compare(c) < 0 }},
	{"le", "oo", "b", fromGo, expands, 0, "whether the first argument is at most the second", func(c *data.Call) any { return compare(c) <= 0 }},
	{"gt", "oo", "b", fromGo, expands, 0, "whether the first argument is greater than the second", func(c *data.Call) any { return compare(c) > 0 }},
	{"ge", "oo", "b", fromGo, expands, 0, "whether the first argument is at least the second", func(c *data.Call) any { return compare(c) >= 0 }},
	{"len", "c", "i", fromGo, expands, 0, "the number of items, keys or bytes", length},
	{"default", "AA?", "a", fromSprig, passes, fallsBack, `the second argument, or the first if the second is missing, "", [] or {}; 0 and false are kept`, fallback},
	{"coalesce", "A*", "a", fromSprig, passes, fallsBack, "the first argument that is not empty, or nothing", coalesce},
	{"ternary", "AAB", "a", fromSprig, passes, fallsBack, "the first argument if the third is true, else the second", ternary},
	{"empty", "A", "b", fromSprig, expands, asks, `whether the argument is missing, "", [] or {}`, func(c *data.Call) any { return data.Empty(c.Args[0], &c.Table) }},
	{"all", "a*", "b", fromSprig, expands, 0, "whether all arguments are true, by the rules of if", func(c *data.Call) any { return count(c) == len(c.Args) }},
	{"any", "a*", "b", fromSprig, expands, 0, "whether at least one argument is true, by the rules of if", func(c *data.Call) any { return count(c) > 0 }},
	{"deepEqual", "aa", "b", fromSprig, expands, 0, "whether the arguments are deeply equal", func(c *data.Call) any { return same(c, c.Args[0], c.Args[1]) }},
	{"kindOf", "a", "t", fromSprig, expands, 0, "string, bool, int64, float64, slice or map", func(c *data.Call) any { return goKind(c.Args[0]) }},
	{"kindIs", "ta", "b", fromSprig, expands, 0, "whether the kind of the second argument equals the first", func(c *data.Call) any { return c.Str(0) == goKind(c.Args[1]) }},
	{"typeOf", "a", "t", fromSprig, expands, 0, "the Go type", func(c *data.Call) any { return goType(c.Args[0]) }},
	{"typeIs typeIsLike", "ta", "b", fromSprig, expands, 0, "whether the Go type of the second argument equals the first", func(c *data.Call) any { return c.Str(0) == goType(c.Args[1]) }},

	// Numbers.
	{"add", "i*", "i", fromSprig, expands, computes, "the sum of the integers", func(c *data.Call) any { return fold(c, 0, 0, addInt) }},
	{"add1", "i", "i", fromSprig, expands, computes, "the integer plus 1", func(c *data.Call) any { return combined(c, c.Integer(0), 1, addInt) }},
	{"sub", "ii", "i", fromSprig, expands, computes, "the first integer minus the second", func(c *data.Call) any { return combined(c, c.Integer(0), c.Integer(1), subInt) }},
	{"mul", "i+", "i", fromSprig, expands, computes, "the product of the integers", func(c *data.Call) any { return fold(c, 1, 0, mulInt) }},
	{"div", "ii", "i", fromSprig, expands, 0, "the first integer divided by the second, without a remainder", func(c *data.Call) any { return divide(c, func(a, b int64) int64 { return a / b }) }},
	{"mod", "ii", "i", fromSprig, expands, 0, "the remainder of the first integer divided by the second", func(c *data.Call) any { return divide(c, func(a, b int64) int64 { return a % b }) }},
	{"max biggest", "i+", "i", fromSprig, expands, 0, "the largest integer", func(c *data.Call) any {
		return fold(c, c.Integer(0), 1, func(a, b int64) (int64, bool) { return max(a, b), true })
	}},
	{"min", "i+", "i", fromSprig, expands, 0, "the smallest integer", func(c *data.Call) any {
		return fold(c, c.Integer(0), 1, func(a, b int64) (int64, bool) { return min(a, b), true })
	}},
	{"int int64", "n", "i", fromSprig, expands, 0, "the number without its fraction, or the string as a decimal number", toInt},
	{"atoi", "i", "i", fromSprig, expands, 0, "the string as a decimal number", func(c *data.Call) any { return c.Integer(0) }},
	{"float64", "n", "f", fromSprig, expands, 0, "the number, or the string as a number, in floating point", func(c *data.Call) any { return c.Float(0) }},
	{"toDecimal", "t", "i", fromSprig, expands, 0, "the string as an octal number", toDecimal},
	{"ceil", "n", "f", fromSprig, expands, 0, "the number rounded up to an integer", func(c *data.Call) any { return math.Ceil(c.Float(0)) }},
	{"floor", "n", "f", fromSprig, expands, 0, "the number rounded down to an integer", func(c *data.Call) any { return math.Floor(c.Float(0)) }},
	{"round", "nin?", "f", fromSprig, expands, 0, "the number, rounded to that many decimal places", round},
	{"maxf", "n+", "f", fromSprig, expands, 0, "the largest number", func(c *data.Call) any { return foldFloat(c, math.Max) }},
	{"minf", "n+", "f", fromSprig, expands, 0, "the smallest number", func(c *data.Call) any { return foldFloat(c, math.Min) }},
	{"addf", "n*", "f", fromSprig, expands, computes, "the sum", func(c *data.Call) any { return decimals(c, "addf", 0) }},
	{"add1f", "n", "f", fromSprig, expands, computes, "the number plus 1", func(c *data.Call) any { return finite(c, sprigFunc[func(any) float64]("add1f")(c.Float(0))) }},
	{"subf", "n+", "f", fromSprig, expands, computes, "the first number minus the others", func(c *data.Call) any { return decimals(c, "subf", 1) }},
	{"mulf", "n+", "f", fromSprig, expands, computes, "the product", func(c *data.Call) any { return decimals(c, "mulf", 1) }},
	{"divf", "n+", "f", fromSprig, expands, 0, "the first number divided by the others", divf},
	{"quantityCompare", "tt", "i", own, expands, 0, "-1, 0 or 1: whether the first quantity of Kubernetes, such as 500m or 1Gi, is less than, equal to or greater than the second", quantityCompare},
	{"quantityAdd", "t+", "t", own, expands, computes, "the sum of quantities of Kubernetes, in the unit of the first", quantityAdd},

	// Text.
	{"upper", "t", "t", fromSprig, expands, 0, "the string in upper case", text1(3, strings.ToUpper)},
	{"lower", "t", "t", fromSprig, expands, 0, "the string in lower case", text1(3, strings.ToLower)},
	{"title", "t", "t", fromSprig, expands, 0, "the string with each word's first letter in upper case", text1(3, sprigFunc[func(string) string]("title"))},
	{"untitle", "t", "t", fromSprig, expands, 0, "the string with each word's first letter in lower case", text1(3, sprigFunc[func(string) string]("untitle"))},
	{"swapcase", "t", "t", fromSprig, expands, 0, "the string with upper and lower case swapped", text1(3, sprigFunc[func(string) string]("swapcase"))},
	{"nospace", "t", "t", fromSprig, expands, 0, "the string without white space", text1(1, sprigFunc[func(string) string]("nospace"))},
	{"initials", "t", "t", fromSprig, expands, 0, "the first letters of the words", text1(1, sprigFunc[func(string) string]("initials"))},
	{"snakecase", "t", "t", fromSprig, expands, 0, "the string in snake_case", text1(8, sprigFunc[func(string) string]("snakecase"))},
	{"camelcase", "t", "t", fromSprig, expands, 0, "the string in CamelCase", text1(8, sprigFunc[func(string) string]("camelcase"))},
	{"kebabcase", "t", "t", fromSprig, expands, 0, "the string in kebab-case", text1(8, sprigFunc[func(string) string]("kebabcase"))},
	{"trimAll trimall", "tt", "t", fromSprig, expands, 0, "the second string without characters of the first at its ends", trimAll},
	{"trimSuffix", "tt", "t", fromSprig, expands, 0, "the second string without the first at its end", func(c *data.Call) any { return strings.TrimSuffix(c.Str(1), c.Str(0)) }},
	{"trimPrefix", "tt", "t", fromSprig, expands, 0, "the second string without the first at its beginning", func(c *data.Call) any { return strings.TrimPrefix(c.Str(1), c.Str(0)) }},
	{"contains", "tt", "b", fromSprig, expands, 0, "whether the second string contains the first", func(c *data.Call) any { return strings.Contains(c.Str(1), c.Str(0)) }},
	{"hasPrefix", "tt", "b", fromSprig, expands, 0, "whether the second string begins with the first", func(c *data.Call) any { return strings.HasPrefix(c.Str(1), c.Str(0)) }},
	{"hasSuffix", "tt", "b", fromSprig, expands, 0, "whether the second string ends with the first", func(c *data.Call) any { return strings.HasSuffix(c.Str(1), c.Str(0)) }},
	{"replace", "ttt", "t", fromSprig, expands, 0, "the third string, with every occurrence of the first replaced by the second", replace},
	{"repeat", "it", "t", fromSprig, expands, 0, "the second string, repeated as many times as the first argument says", repeat},
	{"trunc", "it", "t", fromSprig, expands, 0, "the first characters of the string or, if negative, the last", trunc},
	{"substr", "iit", "t", fromSprig, expands, 0, "the characters from the first position up to, but not including, the second; a negative position means the end", substr},
	{"abbrev", "it", "t", fromSprig, expands, 0, "the string cut to a length, with ... at its end", abbrev},
	{"abbrevboth", "iit", "t", fromSprig, expands, 0, "the string cut at both ends, with ... there", abbrevboth},
	{"wrap", "it", "t", fromSprig, expands, 0, "the string, wrapped with line breaks after a number of characters", func(c *data.Call) any { return wrap(c, "\n", c.Str(1), false) }},
	{"wrapWith", "itt", "t", fromSprig, expands, 0, "the string, wrapped with a separator after a number of characters", func(c *data.Call) any { return wrap(c, c.Str(1), c.Str(2), true) }},
	{"cat", "t+", "t", fromSprig, expands, computes, "the strings with spaces between them", func(c *data.Call) any { return joinArgs(c, " ") }},
	{"plural", "aai", "t", fromSprig, expands, 0, "the first string if the number is 1, else the second", plural},
	{"toString", "t", "t", fromSprig, expands, 0, "the number, boolean or string as a string", func(c *data.Call) any { return c.Str(0) }},
	{"hello", "", "t", fromSprig, expands, 0, "a greeting", func(*data.Call) any { return "Hello!" }},
	{"print", "t*", "t", fromGo, expands, computes, "the arguments as one string, with spaces between arguments that are not strings", func(c *data.Call) any { return printed(c) }},
	{"println", "t*", "t", fromGo, expands, 0, "the arguments separated by spaces, followed by a newline", func(c *data.Call) any { return joinArgs(c, " ") + "\n" }},
	{"html", "t*", "t", fromGo, expands, 0, "the output of print, escaped for HTML", escaper(6, template.HTMLEscapeString)},
	{"js", "t*", "t", fromGo, expands, 0, "the output of print, escaped for a JavaScript string", escaper(6, template.JSEscapeString)},
	{"urlquery", "t*", "t", fromGo, expands, 0, "the output of print, escaped for the query of a URL", escaper(3, url.QueryEscape)},
	{"trim", "t", "t", fromSprig, keeps, spaces, "the string without white space at its ends", trim},
	{"indent", "it", "t", fromSprig, keeps, manyLines | spaces, "the string with its lines indented", func(c *data.Call) any { return indent(c, "") }},
	{"nindent", "it", "t", fromSprig, keeps, manyLines | spaces, "the string on a new line with its lines indented", func(c *data.Call) any { return indent(c, "\n") }},
	{"quote", "t+", "t", fromSprig, keeps, quotes, "the strings in double quotes, separated by spaces", func(c *data.Call) any { return quoted(c, '"', token.DoubleQuoted) }},
	{"squote", "t+", "t", fromSprig, keeps, quotes, "the strings in single quotes", func(c *data.Call) any { return quoted(c, '\'', token.SingleQuoted) }},
	{"dnsLabel", "t", "t", own, expands, 0, "a valid name of at most 63 characters; if it differs from the argument, it ends with a hash of it", dnsLabel},
	{"shellQuote", "t", "t", own, keeps, 0, "the string, quoted as one word of a POSIX shell", shellQuote},
	{"printf", "ta*", "t", fromGo, expands, computes, "the arguments, formatted by the first", printf},

	// Regular expressions, in RE2 syntax.
	{"regexMatch mustRegexMatch", "tt", "b", fromSprig, expands, 0, "whether the second argument matches the expression", regexMatch},
	{"regexFind mustRegexFind", "tt", "t", fromSprig, expands, 0, "the first match in the string, or an empty string", regexFind},
	{"regexFindAll mustRegexFindAll", "tti", "lt", fromSprig, expands, 0, "a list of matches, at most as many as the number, or all if it is negative", regexFindAll},
	{"regexSplit mustRegexSplit", "tti", "lt", fromSprig, expands, 0, "the parts of the string between matches", regexSplit},
	{"regexReplaceAll mustRegexReplaceAll", "ttt", "t", fromSprig, expands, 0, "the second argument with every match replaced by the third, in which $1 is a group", func(c *data.Call) any { return regexReplace(c, (*regexp.Regexp).ReplaceAllString, true) }},
	{"regexReplaceAllLiteral mustRegexReplaceAllLiteral", "ttt", "t", fromSprig, expands, 0, "like regexReplaceAll, but $1 in the replacement is literal", func(c *data.Call) any { return regexReplace(c, (*regexp.Regexp).ReplaceAllLiteralString, false) }},
	{"regexQuoteMeta", "t", "t", fromSprig, expands, 0, "an expression that matches the string literally", text1(2, regexp.QuoteMeta)},

	// Hashes, encodings, paths and versions.
	{"sha1sum", "t", "t", fromSprig, expands, 0, "the SHA-1 hash in hexadecimal", text1(1, hash1)},
	{"sha256sum", "t", "t", fromSprig, expands, 0, "the SHA-256 hash in hexadecimal", text1(1, hash256)},
	{"sha512sum", "t", "t", fromSprig, expands, 0, "the SHA-512 hash in hexadecimal", text1(1, hash512)},
	{"adler32sum", "t", "t", fromSprig, expands, 0, "the Adler-32 checksum in decimal", text1(1, sprigFunc[func(string) string]("adler32sum"))},
	{"b64enc", "t", "t", fromSprig, expands, 0, "the string in base64", text1(2, func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) })},
	{"b32enc", "t", "t", fromSprig, expands, 0, "the string in base32", text1(2, func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) })},
	{"b64dec", "t", "t", fromSprig, expands, 0, "the string, decoded from base64", func(c *data.Call) any { return decoded(c, base64.StdEncoding.DecodeString) }},
	{"b32dec", "t", "t", fromSprig, expands, 0, "the string, decoded from base32", func(c *data.Call) any { return decoded(c, base32.StdEncoding.DecodeString) }},
	{"base", "t", "t", fromSprig, expands, 0, "the last element of the path", text1(1, path.Base)},
	{"dir", "t", "t", fromSprig, expands, 0, "the path without its last element", text1(1, path.Dir)},
	{"clean", "t", "t", fromSprig, expands, 0, "the shortest equal path", text1(1, path.Clean)},
	{"ext", "t", "t", fromSprig, expands, 0, "the path's extension", text1(1, path.Ext)},
	{"isAbs", "t", "b", fromSprig, expands, 0, "whether the path is absolute", func(c *data.Call) any { return path.IsAbs(c.Str(0)) }},
	{"urlParse", "t", "mt", fromSprig, expands, 0, "a map of the parts of a URL", urlParse},
	{"urlJoin", "m", "t", fromSprig, expands, 0, "the URL of a map of its parts", urlJoin},
	{"semver", "t", "ma", fromSprig, expands, 0, "a map of Major, Minor, Patch, Prerelease, Metadata and Original of a version", paid(costVersion, semver)},
	{"semverCompare", "tt", "b", fromSprig, expands, 0, "whether the version (second argument) satisfies the constraint (first argument)", paid(costVersion, semverCompare)},
	{"duration", "i", "t", fromSprig, expands, 0, "a number of seconds as a string such as 1m35s", duration},
	{"durationRound", "o", "t", fromSprig, expands, 0, "a duration in its largest unit", durationRound},
	{"toDate mustToDate", "tt", "t", fromSprig, expands, 0, "the time (second argument) that is written in a layout of Go, in RFC 3339; without a zone, it is in UTC", toDate},
	{"dateModify mustDateModify date_modify must_date_modify", "to", "t", fromSprig, expands, 0, "the time (second argument) plus a duration such as 1h30m or -10m", dateModify},
	{"date", "to", "t", fromSprig, expands, 0, "the time (second argument) in a layout of Go, in UTC", date},
	{"htmlDate", "o", "t", fromSprig, expands, 0, "the date of the time, in UTC, such as 2006-01-02", htmlDate},
	{"unixEpoch", "o", "t", fromSprig, expands, 0, "the time in seconds since 1970", unixEpoch},
	{"after", "to", "b", own, expands, 0, "whether the duration (first argument) has passed since the time (second argument); if not, the parent is reconciled again at that moment", after},
	{"toYaml", "A", "t", own, expands, encodes | manyLines, "the value as YAML", toYAML},
	{"toJson mustToJson toRawJson mustToRawJson", "A", "t", fromSprig, expands, encodes, "the value as JSON", func(c *data.Call) any { return toJSON(c, false) }},
	{"toPrettyJson mustToPrettyJson", "A", "t", fromSprig, expands, encodes | manyLines, "the value as JSON on several lines", func(c *data.Call) any { return toJSON(c, true) }},
	{"fromYaml", "t", "a", own, parses, 0, "the value, parsed from YAML", fromYAML},
	{"fromJson mustFromJson", "t", "a", fromSprig, parses, 0, "the value, parsed from JSON", paid(costJSON, fromJSON)},

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
	{"slice mustSlice", "si?i?", "a", fromSprig, passes, 0, "the items or characters from a position up to, but not including, another", slice},
	{"chunk mustChunk", "il", "ll", fromSprig, passes, 0, "the items in lists of a given length", chunk},
	{"list tuple", "A*", "l", fromSprig, passes, computes, "a list of the arguments", func(c *data.Call) any { return listOf(c, c.Args, nil) }},
	{"first mustFirst", "L", "a", fromSprig, passes, 0, "the first item, or nothing if the list is empty", func(c *data.Call) any { return itemOf(c.List(0), 0) }},
	{"has mustHas", "AL", "b", fromSprig, passes, 0, "whether the list (second argument) has an item that equals the first argument", func(c *data.Call) any {
		return slices.ContainsFunc(c.List(1), func(v any) bool { return same(c, c.Args[0], v) })
	}},
	{"join", "aa", "t", fromSprig, expands, 0, "the items as one string, separated by the first argument", joinList},
	{"sortAlpha", "l", "lt", fromSprig, expands, 0, "the items as strings, sorted", sortAlpha},
	{"toStrings", "l", "lt", fromSprig, expands, 0, "the items as strings", func(c *data.Call) any { return stringList(c, texts(c, 0)) }},
	{"split", "tt", "mt", fromSprig, expands, 0, "a map with the keys _0, _1, …: the parts of the second string, split at the first", split},
	{"splitn", "tit", "mt", fromSprig, expands, 0, "like split, with at most the given number of parts", splitn},
	{"splitList", "tt", "lt", fromSprig, expands, 0, "a list of the parts of the second string, split at the first", func(c *data.Call) any { return stringList(c, splitParts(c, c.Str(0), c.Str(1), -1)) }},
	{"seq", "i?i?i?", "t", fromSprig, expands, 0, "integers in one string, separated by spaces", seq},
	{"until", "i", "li", fromSprig, expands, 0, "a list of the integers from 0 up to, but not including, the argument", func(c *data.Call) any { return numbers(c, 0, c.Integer(0), 1) }},
	{"untilStep", "iii", "li", fromSprig, expands, 0, "a list of the integers from the first up to, but not including, the second, in steps of the third", func(c *data.Call) any { return numbers(c, c.Integer(0), c.Integer(1), c.Integer(2)) }},

	// Maps.
	{"get", "mt", "a", fromSprig, passes, 0, "the value of a key, or nothing", func(c *data.Call) any { return lookup(c, c.Args[0], c.Str(1)) }},
	{"set", "mta", "m", fromSprig, passes, 0, "a copy of the map in which the key is set to the value", set},
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
	{"dig", "aaa+", "a", fromSprig, passes, 0, "the value at a path of keys in the last argument, or the default (second-last argument)", dig},
	{"dict", "A*", "m", fromSprig, passes, 0, "a map of keys and values", dict},
	{"index", "A+", "a", fromGo, passes, 0, "the value at a path of keys and positions, or nothing", index},

	// Objects.
	{"where", "tAL", "l", own, passes, 0, "the objects of the list (third argument) whose field at the path (first argument) equals the second argument", func(c *data.Call) any { return where(c, true) }},
	{"whereNot", "tAL", "l", own, passes, 0, "the objects whose field at a path does not equal the second argument", func(c *data.Call) any { return where(c, false) }},
	{"collect", "tL", "l", own, passes, 0, "the values at a path in the objects of a list; missing values are omitted", collect},
	{"sortBy", "tL", "l", own, passes, 0, "the objects of a list in the order of their values at a path", sortBy},
	{"named", "AL", "a", own, passes, 0, "the object of that metadata.name in a list, or nothing", named},
	{"condition", "AM", "a", own, passes, 0, `the status of the object's condition of that type, such as "True", or nothing`, condition},
	{"since", "AM", "a", own, passes, 0, "the lastTransitionTime of the object's condition of that type, or nothing", since},
	{"ready", "M", "b", own, passes, 0, "whether the object is ready", paid(costReady, ready)},
	{"logs", "M", "mt", own, passes, 0, "the last lines of the log of each container of a Pod, by the name of the container; containers without a log are left out", paid(costLogs, logs)},
}
