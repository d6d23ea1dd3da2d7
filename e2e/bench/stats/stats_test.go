package stats

import (
	"math"
	"testing"
)

func TestMedian(t *testing.T) {
	for why, row := range map[string]struct {
		values []float64
		want   float64
	}{
		"one value is its own middle":    {[]float64{7}, 7},
		"the order does not matter":      {[]float64{9, 1, 5}, 5},
		"an even number has two middles": {[]float64{4, 1, 2, 3}, 2.5},
		"an outlier does not move it":    {[]float64{1, 2, 1000}, 2},
		"no values":                      {nil, math.NaN()},
	} {
		t.Run(why, func(t *testing.T) { same(t, Median(row.values), row.want) })
	}
}

func TestMedianDoesNotModifyInput(t *testing.T) {
	values := []float64{3, 1, 2}
	Median(values)
	if values[0] != 3 {
		t.Errorf("the values were sorted in place: %v", values)
	}
}

func TestPercentile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for why, row := range map[string]struct {
		values []float64
		p      float64
		want   float64
	}{
		"99 of 100 values do not exceed it": {hundred, 99, 99},
		"half of the values":                {hundred, 50, 50},
		"all values":                        {hundred, 100, 100},
		"no values, but one must be named":  {hundred, 0, 1},
		"few values: the largest":           {[]float64{3, 1, 2}, 99, 3},
		"nothing":                           {nil, 99, math.NaN()},
	} {
		t.Run(why, func(t *testing.T) { same(t, Percentile(row.values, row.p), row.want) })
	}
}

func same(t *testing.T, got, want float64) {
	t.Helper()
	if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
		t.Errorf("got %v, want %v", got, want)
	}
}
