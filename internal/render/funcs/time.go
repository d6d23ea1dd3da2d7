package funcs

import (
	"strconv"
	"strings"
	"time"

	"github.com/templater-dev/templater/internal/render/data"
)

// instant returns argument i as a time in UTC: a string in RFC 3339, as in metadata.creationTimestamp, or a number of seconds since 1970.
func instant(c *data.Call, i int) time.Time {
	var t time.Time
	switch v := c.Scalar(i).(type) {
	case int64:
		t = time.Unix(v, 0).UTC()
	case string:
		t, _ = time.Parse(time.RFC3339, v)
	}
	if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 || t.IsZero() {
		c.Fail("argument %d is not a time in RFC 3339, such as 2006-01-02T15:04:05Z", i+1)
	}
	return t
}

// interval returns argument i as a duration.
func interval(c *data.Call, i int) time.Duration {
	d, err := time.ParseDuration(c.Str(i))
	if err != nil {
		c.Fail("argument %d is not %s", i+1, Duration)
	}
	return d
}

// Duration describes a duration in messages.
const Duration = "a duration, such as 90s, 10m or 1h30m"

// IsDuration reports whether text is a duration.
func IsDuration(text string) bool {
	_, err := time.ParseDuration(text)
	return err == nil
}

// rfc3339 returns a time as text.
func rfc3339(c *data.Call, t time.Time) any {
	if t.Year() < 1 || t.Year() > 9999 {
		return c.Fail("the result is not between the years 1 and 9999")
	}
	return t.Format(time.RFC3339Nano)
}

func toDate(c *data.Call) any {
	layout := c.Str(0)
	if strings.Contains(layout, "MST") {
		return c.Fail("abbreviations of time zones are ambiguous; write Z07:00 and not MST in the layout")
	}
	t, err := time.Parse(layout, c.Str(1))
	if err != nil {
		return c.Fail("argument 2 is not a time in the layout of argument 1")
	}
	return rfc3339(c, t.UTC())
}

func dateModify(c *data.Call) any { return rfc3339(c, instant(c, 1).Add(interval(c, 0))) }

func date(c *data.Call) any { return instant(c, 1).Format(c.Str(0)) }

func htmlDate(c *data.Call) any { return instant(c, 0).Format(time.DateOnly) }

func unixEpoch(c *data.Call) any { return strconv.FormatInt(instant(c, 0).Unix(), 10) }

// after reports whether a duration has passed since a time. It rounds up to whole seconds, like the clock that it is compared with.
func after(c *data.Call) any {
	at := instant(c, 1).Add(interval(c, 0)).Add(time.Second - time.Nanosecond)
	return c.Err == nil && c.Passed != nil && c.Passed(at.Unix())
}
