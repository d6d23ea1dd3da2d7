package funcs

import (
	"crypto/sha1" //nolint:gosec // offered because sprig has it; nothing here relies on it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"

	version "github.com/Masterminds/semver/v3"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/document"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

func duration(c *data.Call) any {
	n := c.Integer(0)
	if n > longestSeconds || n < -longestSeconds {
		return c.Fail("argument 1 is longer than 285 years")
	}
	return sprigFunc[func(any) string]("duration")(n)
}

// hash1 returns the SHA-1 hash of s in hexadecimal.
func hash1(s string) string {
	sum := sha1.Sum([]byte(s)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// hash512 returns the SHA-512 hash of s in hexadecimal.
func hash512(s string) string {
	sum := sha512.Sum512([]byte(s))
	return hex.EncodeToString(sum[:])
}

// hash256 returns the SHA-256 hash of s in hexadecimal.
func hash256(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func decoded(c *data.Call, decode func(string) ([]byte, error)) any {
	out, err := decode(c.Str(0))
	if err != nil {
		return c.Fail("argument 1 has an invalid encoding")
	}
	return string(out)
}

func toYAML(c *data.Call) any {
	r, err := data.YAML(c.Args[0], &c.Table)
	return written(c, r, err)
}

func toJSON(c *data.Call, pretty bool) any {
	r, err := data.JSON(c.Args[0], pretty, &c.Table)
	return written(c, r, err)
}

func written(c *data.Call, r token.Rendered, err error) any {
	c.FailWith(err)
	c.Pay(len(r))
	return r
}

// urlParse hides the library's error, which quotes the URL.
func urlParse(c *data.Call) (v any) {
	defer recovered(c, "argument 1 is not a URL", &v)
	s := c.Str(0)
	if !c.Pay(4 * len(s)) {
		return nil
	}
	return anyMap(sprigFunc[func(string) map[string]any]("urlParse")(s))
}

func urlJoin(c *data.Call) (v any) {
	defer recovered(c, "argument 1 does not have the parts of a URL as strings", &v)
	parts := c.Dict(0)
	m := c.NewDict(len(parts))
	for _, key := range c.Keys(parts) {
		if c.Err == nil {
			m[key] = c.StrOf(c.Item(parts[key]), 0)
		}
	}
	if c.Err != nil {
		return nil
	}
	return sprigFunc[func(map[string]any) string]("urlJoin")(m)
}

// recovered turns a panic in third-party code into an error with the given message.
func recovered(c *data.Call, message string, v *any) {
	if recover() != nil {
		*v = c.Fail("%s", message)
	}
}

func anyMap(m map[string]any) any { return m }

// longestVersion limits the input of version parsers, in bytes.
const longestVersion = 256

func semver(c *data.Call) any {
	s := c.Str(0)
	if len(s) > longestVersion {
		return c.Fail("argument 1 is not a version")
	}
	v, err := version.NewVersion(s)
	if err != nil {
		return c.Fail("argument 1 is not a version")
	}
	return map[string]any{
		"Major": clampUint(v.Major()), "Minor": clampUint(v.Minor()), "Patch": clampUint(v.Patch()),
		"Prerelease": v.Prerelease(), "Metadata": v.Metadata(), "Original": v.Original(),
	}
}

func clampUint(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

func semverCompare(c *data.Call) any {
	constraint, v := c.Str(0), c.Str(1)
	if len(constraint) > longestVersion || len(v) > longestVersion || !c.Pay(100*len(constraint)) {
		return c.Fail("an argument is too long")
	}
	ok, err := sprigFunc[func(string, string) (bool, error)]("semverCompare")(constraint, v)
	if err != nil {
		return c.Fail("argument 1 is not a constraint, or argument 2 is not a version")
	}
	return ok
}

// longestSeconds is slightly less than what 64-bit nanoseconds can hold.
const longestSeconds = 9_000_000_000

// durationText matches durations that sprig parses without an error, because sprig ignores errors.
var durationText = regexp.MustCompile(`^[-+]?(0|([0-9]{1,6}(\.[0-9]{0,9})?h)?([0-9]{1,8}(\.[0-9]{0,9})?m)?([0-9]{1,9}(\.[0-9]{0,9})?s)?([0-9]{1,9}ms)?)$`)

func durationRound(c *data.Call) any {
	if data.IsText(c.Args[0]) {
		s := c.Str(0)
		if !durationText.MatchString(s) {
			return c.Fail("argument 1 is not a duration such as 2h30m")
		}
		return sprigFunc[func(any) string]("durationRound")(s)
	}
	return sprigFunc[func(any) string]("durationRound")(c.Integer(0))
}

// fromYAML parses rendered text including its tokens, and restores them
// afterwards. Any other text is data without tokens.
func fromYAML(c *data.Call) any {
	r, isRendered := c.Args[0].(token.Rendered)
	content := string(r)
	if !isRendered {
		content = strings.TrimPrefix(c.Str(0), "\ufeff")
	}
	var value any
	found := 0
	err := document.Read(&c.Table, content, isRendered, func(d document.Document) error {
		var err error
		value, err = d.Value()
		found++
		return err
	})
	switch {
	case err == nil && found <= 1:
		return value
	case err == nil:
		return c.Fail("the text has more than one document")
	}
	return unreadable(c, err, isRendered, "YAML")
}

// unreadable reports text that could not be parsed. Unless say is set, it hides
// err, which may quote data.
func unreadable(c *data.Call, err error, say bool, language string) any {
	_, hidden := errors.AsType[*document.CommentError](err)
	if _, placed := errors.AsType[*syntax.Error](err); placed || hidden || budget.Ended(err) {
		c.FailWith(err) // takes precedence over the errors below
	}
	if say {
		return c.Fail("%s", err)
	}
	return c.Fail("the text is not valid %s, or is ambiguous", language)
}

func fromJSON(c *data.Call) any {
	if _, ok := c.Args[0].(token.Rendered); ok {
		return fromYAML(c)
	}
	s := c.Str(0)
	if !c.Pay(24 * len(s)) {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(s))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return unreadable(c, err, false, "JSON")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return c.Fail("there is more text after the JSON value")
	}
	return v
}
