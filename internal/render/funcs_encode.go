package render

import (
	"crypto/sha1" //nolint:gosec // offered because sprig has it; nothing here relies on it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"path"
	"regexp"
	"strings"

	version "github.com/Masterminds/semver/v3"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/document"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

func init() {
	g := group{source: "sprig", rendered: syntax.Expands}
	g.text1("sha1sum", 1, "the SHA-1 hash in hexadecimal", func(s string) string {
		sum := sha1.Sum([]byte(s)) //nolint:gosec // see the import
		return hex.EncodeToString(sum[:])
	})
	g.text1("sha256sum", 1, "the SHA-256 hash in hexadecimal", hash256)
	g.text1("sha512sum", 1, "the SHA-512 hash in hexadecimal", func(s string) string {
		sum := sha512.Sum512([]byte(s))
		return hex.EncodeToString(sum[:])
	})
	g.text1("adler32sum", 1, "the Adler-32 checksum in decimal", sprigFunc[func(string) string]("adler32sum"))
	g.text1("b64enc", 2, "the text in base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) })
	g.text1("b32enc", 2, "the text in base32", func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) })
	g.add(names("b64dec"), 1, 1, "the text that was encoded in base64", func(c *call) any {
		return c.decoded(base64.StdEncoding.DecodeString(c.str(0)))
	})
	g.add(names("b32dec"), 1, 1, "the text that was encoded in base32", func(c *call) any {
		return c.decoded(base32.StdEncoding.DecodeString(c.str(0)))
	})
	g.text1("base", 1, "the last element of the path", path.Base)
	g.text1("dir", 1, "the path without its last element", path.Dir)
	g.text1("clean", 1, "the shortest equal path", path.Clean)
	g.text1("ext", 1, "the path's extension", path.Ext)
	g.add(names("isAbs"), 1, 1, "whether the path is absolute", func(c *call) any { return path.IsAbs(c.str(0)) })
	g.add(names("urlParse"), 1, 1, "a map of the parts of a URL", urlParse)
	g.add(names("urlJoin"), 1, 1, "the URL of a map of its parts", urlJoin)
	g.add(names("semver"), 1, 1, "a map of Major, Minor, Patch, Prerelease, Metadata and Original of a version", semver)
	g.add(names("semverCompare"), 2, 2, "whether the version, the second argument, satisfies the constraint, the first", semverCompare)
	g.add(names("duration"), 1, 1, "a number of seconds as text such as 1m35s", func(c *call) any {
		n := c.integer(0)
		if n > longestSeconds || n < -longestSeconds {
			return c.fail("argument 1 is more than 285 years")
		}
		return sprigFunc[func(any) string]("duration")(n)
	})
	g.add(names("durationRound"), 1, 1, "a duration in its largest unit", durationRound)

	k := group{source: "templater", rendered: syntax.Expands, nilOK: true}
	k.add(names("toYaml"), 1, 1, "the value as YAML", func(c *call) any { return c.written(data.YAML(c.args[0], &c.x.Table)) })
	s := group{source: "sprig", rendered: syntax.Expands, nilOK: true}
	s.add(names("toJson", "mustToJson", "toRawJson", "mustToRawJson"), 1, 1, "the value as JSON",
		func(c *call) any { return c.written(data.JSON(c.args[0], false, &c.x.Table)) })
	s.add(names("toPrettyJson", "mustToPrettyJson"), 1, 1, "the value as JSON on several lines",
		func(c *call) any { return c.written(data.JSON(c.args[0], true, &c.x.Table)) })

	y := group{source: "templater", rendered: syntax.Parses}
	y.add(names("fromYaml"), 1, 1, "the value that the YAML stands for", fromYAML)
	j := group{source: "sprig", rendered: syntax.Parses}
	j.add(names("fromJson", "mustFromJson"), 1, 1, "the value that the JSON stands for", fromJSON)
}

// hash256 returns the SHA-256 hash of s in hexadecimal.
func hash256(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func (c *call) decoded(out []byte, err error) any {
	if err != nil {
		return c.fail("argument 1 is not validly encoded")
	}
	return string(out)
}

func (c *call) written(r token.Rendered, err error) any {
	c.failed(err)
	c.pay(len(r))
	return r
}

// urlParse hides the library's error, which quotes the URL.
func urlParse(c *call) (v any) {
	defer c.recovered("argument 1 is not a URL", &v)
	s := c.str(0)
	if !c.pay(4 * len(s)) {
		return nil
	}
	return anyMap(sprigFunc[func(string) map[string]any]("urlParse")(s))
}

func urlJoin(c *call) (v any) {
	defer c.recovered("argument 1 does not have the parts of a URL, as text", &v)
	parts := c.dict(0)
	m := c.newDict(len(parts))
	for _, key := range c.keys(parts) {
		if c.err == nil {
			m[key] = c.strOf(c.scalarItem(parts[key]), 0)
		}
	}
	if c.err != nil {
		return nil
	}
	return sprigFunc[func(map[string]any) string]("urlJoin")(m)
}

// recovered makes a panic in third-party code an error without its words.
func (c *call) recovered(message string, v *any) {
	if recover() != nil {
		*v = c.fail("%s", message)
	}
}

func anyMap(m map[string]any) any { return m }

// longestVersion bounds what the parsers of versions get to see.
const longestVersion = 256

func semver(c *call) any {
	s := c.str(0)
	if len(s) > longestVersion {
		return c.fail("argument 1 is not a version")
	}
	if !c.pay(costVersion) {
		return nil
	}
	v, err := version.NewVersion(s)
	if err != nil {
		return c.fail("argument 1 is not a version")
	}
	return map[string]any{
		"Major": clampUint(v.Major()), "Minor": clampUint(v.Minor()), "Patch": clampUint(v.Patch()),
		"Prerelease": v.Prerelease(), "Metadata": v.Metadata(), "Original": v.Original(),
	}
}

func clampUint(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

func semverCompare(c *call) any {
	constraint, v := c.str(0), c.str(1)
	if len(constraint) > longestVersion || len(v) > longestVersion || !c.pay(costVersion+100*len(constraint)) {
		return c.fail("an argument is too long")
	}
	ok, err := sprigFunc[func(string, string) (bool, error)]("semverCompare")(constraint, v)
	if err != nil {
		return c.fail("argument 1 is not a constraint, or argument 2 is not a version")
	}
	return ok
}

// longestSeconds is a little less than what nanoseconds in 64 bits can hold.
const longestSeconds = 9_000_000_000

// durationText is what sprig parses without an error, which it would ignore.
var durationText = regexp.MustCompile(`^[-+]?(0|([0-9]{1,6}(\.[0-9]{0,9})?h)?([0-9]{1,8}(\.[0-9]{0,9})?m)?([0-9]{1,9}(\.[0-9]{0,9})?s)?([0-9]{1,9}ms)?)$`)

func durationRound(c *call) any {
	if data.IsText(c.args[0]) {
		s := c.str(0)
		if !durationText.MatchString(s) {
			return c.fail("argument 1 is not a duration such as 2h30m")
		}
		return sprigFunc[func(any) string]("durationRound")(s)
	}
	return sprigFunc[func(any) string]("durationRound")(c.integer(0))
}

// fromYAML parses rendered text with its tokens in it and restores them
// afterwards. Any other text is data, in which nothing is a token.
func fromYAML(c *call) any {
	r, isRendered := c.args[0].(token.Rendered)
	content := string(r)
	if !isRendered {
		content = strings.TrimPrefix(c.str(0), "\ufeff")
	}
	var value any
	found := 0
	err := document.Read(&c.x.Table, content, isRendered, func(d document.Document) error {
		var err error
		value, err = d.Value()
		found++
		return err
	})
	switch {
	case err == nil && found <= 1:
		return value
	case err == nil:
		return c.fail("the text has more than one document")
	}
	return c.unreadable(err, isRendered, "YAML")
}

// unreadable reports text that could not be parsed. What is wrong with data
// cannot be said without quoting it.
func (c *call) unreadable(err error, say bool, language string) any {
	if hidden, ok := errors.AsType[*document.CommentError](err); ok {
		c.failed(c.x.suspects[hidden.Mark].error())
	}
	if _, placed := errors.AsType[*syntax.Error](err); placed || budget.Ended(err) {
		c.failed(err) // which is what counts
	}
	if say {
		return c.fail("%s", err)
	}
	return c.fail("the text is not valid %s, or not without doubt", language)
}

func fromJSON(c *call) any {
	if _, ok := c.args[0].(token.Rendered); ok {
		return fromYAML(c)
	}
	s := c.str(0)
	if !c.pay(costJSON + 24*len(s)) {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(s))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return c.unreadable(err, false, "JSON")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return c.fail("there is more text after the JSON value")
	}
	return v
}
