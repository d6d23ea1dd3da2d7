package data

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNormalConvertsNumbers takes what decoders of JSON make of numbers.
func TestNormalConvertsNumbers(t *testing.T) {
	for why, c := range map[string]struct {
		in, want any
		fails    bool
	}{
		"int":                          {in: 5, want: int64(5)},
		"int32":                        {in: int32(5), want: int64(5)},
		"int64":                        {in: int64(5), want: int64(5)},
		"float32":                      {in: float32(0.5), want: 0.5},
		"float64":                      {in: 5.0, want: 5.0},
		"an integer as written":        {in: json.Number("9223372036854775807"), want: int64(math.MaxInt64)},
		"a fraction as written":        {in: json.Number("0.1"), want: 0.1},
		"an exponent as written":       {in: json.Number("1e3"), want: 1000.0},
		"an integer that is too large": {in: json.Number("9223372036854775808"), fails: true},
		"a number that is too large":   {in: json.Number("1e400"), fails: true},
		"infinity":                     {in: math.Inf(1), fails: true},
		"not a number":                 {in: math.NaN(), fails: true},
		"type that JSON does not have": {in: uint64(5), fails: true},
		"a map of other types":         {in: map[string]string{}, fails: true},
	} {
		got, err := Normal(c.in)
		if diff := cmp.Diff(c.want, got); diff != "" || (err != nil) != c.fails {
			t.Errorf("%s: got %v, %v", why, got, err)
		}
	}
}
