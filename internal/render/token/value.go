package token

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// FormatFloat writes a finite number as encoding/json does: the shortest text
// that reads back as the same number, with an exponent only when it is far
// from 1.
func FormatFloat(f float64) string {
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.FormatFloat(f, format, -1, 64)
}

// ParseNumber reads a JSON number: an int64 if it is written as an integer, a
// float64 otherwise. An integer beyond int64 is an error, for a float64 would
// not be exact.
func ParseNumber(s string) (any, error) {
	if !strings.ContainsAny(s, ".eE") {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, errors.New("an integer does not fit in 64 bits; quote it to make it a string")
		}
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, errors.New("a number is too large")
	}
	return f, nil
}

// KindOf names the kind of a value for people.
func KindOf(v any) string {
	switch v.(type) {
	case nil:
		return "a missing value"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case string, Derived, Rendered:
		return "a string"
	case []any:
		return "a list"
	}
	return "a map"
}
