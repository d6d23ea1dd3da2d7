package funcs_test

import (
	"testing"
	"time"

	"github.com/templater-dev/templater/internal/render"
)

func TestTimeFunctions(t *testing.T) {
	const notTime, notDuration = "is not a time in RFC 3339, such as 2006-01-02T15:04:05Z", "is not a duration, such as 90s, 10m or 1h30m"
	yield(t, map[string]string{
		`toDate "2006-01-02" "2026-03-01"`:                                          `"2026-03-01T00:00:00Z"`,
		`toDate "2006-01-02 15:04 Z07:00" "2026-03-01 01:30 +02:00"`:                `"2026-02-28T23:30:00Z"`,
		`toDate "2006-01-02" "today"`:                                               `error: toDate: argument 2 is not a time in the layout of argument 1`,
		`toDate "2006-01-02 MST" "2026-03-01 CET"`:                                  `error: toDate: abbreviations of time zones are ambiguous; write Z07:00 and not MST in the layout`,
		`dateModify "1h30m" "2026-12-31T23:00:00Z"`:                                 `"2027-01-01T00:30:00Z"`,
		`"2026-12-31T23:00:00Z" | date_modify "-24h"`:                               `"2026-12-30T23:00:00Z"`,
		`mustDateModify "1ms" "2026-12-31T23:00:00+01:00"`:                          `"2026-12-31T22:00:00.001Z"`,
		`dateModify "1d" "2026-12-31T23:00:00Z"`:                                    `error: dateModify: argument 1 ` + notDuration,
		`dateModify "1h" "9999-12-31T23:30:00Z"`:                                    `error: dateModify: the result is not between the years 1 and 9999`,
		`dateModify "1h" "soon"`:                                                    `error: dateModify: argument 2 ` + notTime,
		`date "Jan 2, 15:04 MST" "2026-12-31T23:00:00-01:00"`:                       `"Jan 1, 00:00 UTC"`,
		`date "2006" 1700000000`:                                                    `"2023"`,
		`date "2006" 1.5`:                                                           `error: date: argument 2 ` + notTime,
		`date "2006" 9223372036854775807`:                                           `error: date: argument 2 ` + notTime,
		`htmlDate "2026-12-31T23:00:00-01:00"`:                                      `"2027-01-01"`,
		`unixEpoch "1970-01-02T00:00:01Z"`:                                          `"86401"`,
		`sub (unixEpoch "2026-03-01T00:00:00Z") (unixEpoch "2026-02-28T00:00:00Z")`: `86400`,
		`after "1h" "2026-01-01T00:00:00Z"`:                                         `false`,
		`after "1h" ""`:                                                             `error: after: argument 2 ` + notTime,
		`since "Ready" (fromJson "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}")`: `"2026-01-01T00:00:00Z"`,
		`since "Ready" nil | default "never"`: `"never"`,
	})
}

// The function after passes whole seconds on, because the clock that decides has no fractions.
func TestAfterRoundsUp(t *testing.T) {
	for text, want := range map[string]string{
		`after "1h" "2026-01-01T00:00:00Z"`:          "2026-01-01T01:00:00Z",
		`after "1h0.2s" "2026-01-01T00:00:00Z"`:      "2026-01-01T01:00:01Z",
		`after "0.5s" "2026-01-01T00:00:00.5+01:00"`: "2025-12-31T23:00:01Z",
		`after "1ms" "1969-12-31T23:59:59Z"`:         "1970-01-01T00:00:00Z",
	} {
		got := ""
		passed := func(seconds int64) bool { got = time.Unix(seconds, 0).UTC().Format(time.RFC3339); return true }
		if out, err := yields("{{ "+text+" }}", "", &render.Input{Parent: map[string]any{}, Passed: passed}); out != "true" || err != nil || got != want {
			t.Errorf("%s: %s, %v, and asks for %s, want true and %s", text, out, err, got, want)
		}
	}
}
