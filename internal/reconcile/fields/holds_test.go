package fields

import (
	"testing"

	"github.com/templater-dev/templater/internal/kube/object"
)

// TestHolds compares what an author wants with what a server shows.
func TestHolds(t *testing.T) {
	const byName = `{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:name":{},"f:image":{}}}}}`
	for why, row := range map[string]struct {
		set, content, current string
		want, quantities      bool
	}{
		"it is the same":                       {`{}`, `{"a":{"b":"x"}}`, `{"a":{"b":"x"}}`, true, true},
		"a value differs":                      {`{}`, `{"a":{"b":"x"}}`, `{"a":{"b":"y"}}`, false, false},
		"a field is missing":                   {`{}`, `{"a":{"b":"x"}}`, `{"a":{}}`, false, false},
		"all is missing":                       {`{}`, `{"a":"x"}`, `null`, false, false},
		"the server has filled in more":        {`{}`, `{"a":{"b":"x"}}`, `{"a":{"b":"x","c":"y"},"status":{}}`, true, true},
		"what is empty is left out":            {`{}`, `{"a":"x","b":null,"c":[],"d":{"e":null}}`, `{"a":"x"}`, true, true},
		"others fill what is null":             {`{}`, `{"a":null,"b":[]}`, `{"a":{"c":"x"},"b":["x"]}`, true, true},
		"a zero value is left out":             {`{}`, `{"a":"x","b":false,"c":0,"d":"","e":{},"f":{"g":0.0}}`, `{"a":"x"}`, true, true},
		"a zero value differs":                 {`{}`, `{"a":false}`, `{"a":true}`, false, false},
		"a number is written otherwise":        {`{}`, `{"a":1}`, `{"a":1.0}`, true, true},
		"a list has more filled in":            {`{}`, `{"l":[{"a":"x"}]}`, `{"l":[{"a":"x","b":"y"}]}`, true, true},
		"a list is longer":                     {`{}`, `{"l":["x"]}`, `{"l":["x","y"]}`, false, false},
		"a list is in another order":           {`{}`, `{"l":["x","y"]}`, `{"l":["y","x"]}`, false, false},
		"others have added to a list by keys":  {byName, `{"spec":{"containers":[{"name":"web","image":"a"}]}}`, `{"spec":{"containers":[{"name":"sidecar"},{"name":"web","image":"a","tty":false}]}}`, true, true},
		"an item of a list by keys differs":    {byName, `{"spec":{"containers":[{"name":"web","image":"a"}]}}`, `{"spec":{"containers":[{"name":"web","image":"b"}]}}`, false, false},
		"an item of a list by keys is missing": {byName, `{"spec":{"containers":[{"name":"web","image":"a"}]}}`, `{"spec":{"containers":[]}}`, false, false},
		"a quantity is written otherwise":      {`{}`, `{"cpu":"1000m"}`, `{"cpu":"1"}`, false, true},
		"a quantity is a number":               {`{}`, `{"cpu":2}`, `{"cpu":"2"}`, false, true},
		"another quantity":                     {`{}`, `{"cpu":"1000m"}`, `{"cpu":"2"}`, false, false},
	} {
		t.Run(why, func(t *testing.T) {
			set := Set(jsonOf(t, row.set).(map[string]any))
			if got := set.Holds(jsonOf(t, row.content), jsonOf(t, row.current), Equal); got != row.want {
				t.Errorf("by value: %v, want %v", got, row.want)
			}
			if got := set.Holds(jsonOf(t, row.content), jsonOf(t, row.current), SameQuantity); got != row.quantities {
				t.Errorf("by quantity: %v, want %v", got, row.quantities)
			}
		})
	}
}

func jsonOf(t *testing.T, text string) any {
	t.Helper()
	value, ok := object.Parse(text)
	if !ok {
		t.Fatalf("%s is no JSON", text)
	}
	return value
}
