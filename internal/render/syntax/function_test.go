package syntax

import "testing"

func TestArityErrors(t *testing.T) {
	for why, row := range map[string]struct {
		function Function
		given    int
		want     string
	}{
		"the only number":           {Function{Min: 2, Max: 2}, 2, ""},
		"fewer than the only one":   {Function{Min: 2, Max: 2}, 1, "f needs 2 arguments, not 1"},
		"more than the only one":    {Function{Min: 2, Max: 2}, 3, "f needs 2 arguments, not 3"},
		"one is said in one word":   {Function{Min: 1, Max: 1}, 0, "f needs 1 argument, not 0"},
		"the least":                 {Function{Min: 1, Max: 3}, 1, ""},
		"the most":                  {Function{Min: 1, Max: 3}, 3, ""},
		"fewer than the least":      {Function{Min: 1, Max: 3}, 0, "f needs 1 to 3 arguments, not 0"},
		"more than the most":        {Function{Min: 1, Max: 3}, 4, "f needs 1 to 3 arguments, not 4"},
		"none, where there is none": {Function{}, 0, ""},
		"one, where there is none":  {Function{}, 1, "f needs 0 arguments, not 1"},
		"the least of any number":   {Function{Min: 2, Max: -1}, 2, ""},
		"many of any number":        {Function{Min: 2, Max: -1}, 99, ""},
		"too few of any number":     {Function{Min: 2, Max: -1}, 1, "f needs at least 2 arguments, not 1"},
	} {
		row.function.Name = "f"
		got := ""
		if err := row.function.Arity(row.given); err != nil {
			got = err.Error()
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", why, got, row.want)
		}
	}
}
