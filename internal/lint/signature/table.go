package signature

import (
	"strings"

	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/lint/value"
)

// params are the kinds of parameters, by a letter. A capital one may be missing.
var params = map[rune]Param{
	'a': {},
	't': {Kinds: value.Scalar, Words: "text"},
	'i': {Kinds: schema.String | value.Numeric, Words: "a whole number", whole: true},
	'n': {Kinds: schema.String | value.Numeric, Words: "a number", num: true},
	'b': {Kinds: schema.Boolean, Words: "a boolean"},
	'l': {Kinds: schema.List, Words: "a list"},
	'm': {Kinds: schema.Map, Words: "a map"},
	's': {Kinds: schema.String | schema.List, Words: "a list or a string"},
	'c': {Kinds: schema.String | schema.List | schema.Map, Words: "a list, a map or a string"},
	'o': {Kinds: schema.String | value.Numeric, Words: "a number or a string"},
	'A': {Nil: true},
	'B': {Kinds: schema.Boolean, Words: "a boolean", Nil: true},
	'L': {Kinds: schema.List, Words: "a list", Nil: true},
	'M': {Kinds: schema.Map, Words: "a map", Nil: true},
}

// What functions that take arguments of many kinds ask of one of them.
var (
	Text  = params['t']
	Whole = params['i']
)

// yielded are the kinds of results, by a letter.
var yielded = map[byte]schema.Kinds{'t': schema.String, 'i': schema.Integer, 'f': schema.Number, 'b': schema.Boolean, 'l': schema.List, 'm': schema.Map, 'a': 0}

// signatures are those of all functions, by name. It is filled before main starts.
var signatures = map[string]*Signature{}

// The first word of each row are the parameters, one letter each, and * repeats the one before. The second one is the
// result, with a letter for its items. The others are the functions.
const table = `
t t          sha1sum sha256sum sha512sum adler32sum b64enc b32enc b64dec b32dec base dir clean ext
t b          isAbs
t mt         urlParse
m t          urlJoin
t ma         semver
tt b         semverCompare contains hasPrefix hasSuffix regexMatch mustRegexMatch
i t          duration
o t          durationRound
A t          toYaml toJson mustToJson toRawJson mustToRawJson toPrettyJson mustToPrettyJson
t a          fromYaml fromJson mustFromJson
t t          upper lower title untitle swapcase nospace initials snakecase camelcase kebabcase trim dnsLabel shellQuote toString regexQuoteMeta
tt t         trimAll trimall trimSuffix trimPrefix regexFind mustRegexFind
tti lt       regexFindAll mustRegexFindAll regexSplit mustRegexSplit
ttt t        regexReplaceAll mustRegexReplaceAll regexReplaceAllLiteral mustRegexReplaceAllLiteral replace
it t         repeat trunc abbrev wrap indent nindent
iit t        substr abbrevboth
itt t        wrapWith
aai t        plural
t* t         cat print println html js urlquery quote squote
ta* t        printf
- t          hello
aa t         join
l lt         sortAlpha toStrings
tt mt        split
tit mt       splitn
tt lt        splitList
i* t         seq
i li         until
iii li       untilStep
la l         append push mustAppend mustPush prepend mustPrepend without mustWithout
l* l         concat
l a          last mustLast
l l          rest mustRest initial mustInitial reverse mustReverse compact mustCompact uniq mustUniq
si* a        slice mustSlice
il ll        chunk mustChunk
A* l         list tuple
L a          first mustFirst
AL b         has mustHas
mt a         get
mta m        set
mt m         unset
mt b         hasKey
tm* l        pluck
mt* m        pick omit
m* lt        keys
m l          values
m* m         merge mustMerge mergeOverwrite mustMergeOverwrite
a a          deepCopy mustDeepCopy
a* a         dig
A* m         dict
A* a         index
ta t         include
AA a         required
t a          fail wait
AA* b        eq
AA b         ne
A b          not
A* a         and or coalesce
oo b         lt le gt ge
c i          len
AA* a        default
AAB a        ternary
A b          empty
a* b         all any
aa b         deepEqual
a t          kindOf typeOf
ta b         kindIs typeIs typeIsLike
i* i         add mul max biggest min
i i          add1 atoi
ii i         sub div mod
n i          int int64
t i          toDecimal
n f          ceil floor float64 add1f
nin f        round
n* f         maxf minf addf subf mulf divf
tAL l        where whereNot
tL l         collect sortBy
AL a         named
AM a         condition
M b          ready
M mt         logs
`

func init() {
	for _, line := range strings.Split(strings.TrimSpace(table), "\n") {
		words := strings.Fields(line)
		s := &Signature{Result: yielded[words[1][0]]}
		if len(words[1]) > 1 {
			s.item = yielded[words[1][1]]
		}
		for _, letter := range words[0] {
			switch letter {
			case '-':
			case '*':
				s.rest = s.params[len(s.params)-1]
			default:
				s.params = append(s.params, params[letter])
			}
		}
		for _, name := range words[2:] {
			signatures[name] = s
		}
	}
}
