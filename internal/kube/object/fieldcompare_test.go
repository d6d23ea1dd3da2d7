package object

import "testing"

func TestSame(t *testing.T) {
	const two = `{"f:list":{"k:{\"type\":\"A\"}":{".":{},"f:type":{},"f:status":{}},"k:{\"type\":\"B\"}":{".":{},"f:type":{}},"k:{\"type\":\"C\"}":{".":{}},"k:{\"type\":\"D\"}":{".":{}},"k:{\"type\":\"E\"}":{".":{}}}}`
	for why, row := range map[string]struct {
		set, content, current string
		want                  bool
	}{
		"a mapping is no text, also an empty one":        {`{"f:a":{}}`, `{"a":{}}`, `{"a":"x"}`, false},
		"a field that is not there is not null":          {`{"f:a":{}}`, `{"a":null}`, `{}`, false},
		"a list is no text, also an empty one":           {`{"f:a":{}}`, `{"a":[]}`, `{"a":"x"}`, false},
		"equal lists":                                    {`{"f:a":{}}`, `{"a":["x",1]}`, `{"a":["x",1]}`, true},
		"a list that is longer":                          {`{"f:a":{}}`, `{"a":["x"]}`, `{"a":["x","y"]}`, false},
		"a list that is shorter":                         {`{"f:a":{}}`, `{"a":["x","y"]}`, `{"a":["x"]}`, false},
		"an item is compared with the one of its key":    {two, `{"list":[{"type":"A","status":"1"}]}`, `{"list":[{"type":"B"},{"type":"C"},{"type":"D"},{"type":"E"},{"type":"A","status":"1"}]}`, true},
		"an item that is ours and is there no more":      {two, `{"list":[{"type":"A","status":"1"}]}`, `{"list":[{"type":"B"}]}`, false},
		"an item that nobody has said is ours":           {two, `{"list":[{"type":"Z"}]}`, `{"list":[{"type":"Z"}]}`, false},
		"an item of a set that is there no more":         {`{"f:a":{"v:\"x\"":{}}}`, `{"a":["x"]}`, `{"a":["y"]}`, false},
		"null in a set that is there no more":            {`{"f:a":{"v:null":{}}}`, `{"a":[null]}`, `{"a":[]}`, false},
		"items of a set in another order":                {`{"f:a":{"v:\"x\"":{},"v:\"y\"":{}}}`, `{"a":["x","y"]}`, `{"a":["y","x"]}`, true},
		"a text is not the number that it looks like":    {`{"f:a":{}}`, `{"a":"1"}`, `{"a":1}`, false},
		"a number is not the text that it looks like":    {`{"f:a":{}}`, `{"a":1}`, `{"a":"1"}`, false},
		"a mapping within a list that is held whole":     {`{"f:a":{}}`, `{"a":[{"b":[1,{"c":null}]}]}`, `{"a":[{"b":[1,{"c":null}]}]}`, true},
		"another value within a list that is held whole": {`{"f:a":{}}`, `{"a":[{"b":[1,{"c":1}]}]}`, `{"a":[{"b":[1,{"c":2}]}]}`, false},
	} {
		if got := set(t, row.set).Same(data(t, row.content), data(t, row.current)); got != row.want {
			t.Errorf("%s: same = %v, want %v", why, got, row.want)
		}
	}
}

func TestEqualValues(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1}`, `{"a":1}`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{}`, `{"a":1}`, false},
		{`{"a":1}`, `{}`, false},
		{`{"a":null}`, `{"b":null}`, false},
		{`{}`, `[]`, false},
		{`{}`, `1`, false},
		{`[]`, `{}`, false},
		{`[]`, `1`, false},
		{`[1]`, `[1]`, true},
		{`[1]`, `[2]`, false},
		{`[]`, `[1]`, false},
		{`[1]`, `[]`, false},
		{`1`, `1.0`, true},
		{`1`, `{}`, false},
		{`"a"`, `"a"`, true},
		{`null`, `null`, true},
		{`null`, `false`, false},
	} {
		if got := EqualValues(data(t, row.a), data(t, row.b)); got != row.want {
			t.Errorf("%s and %s: equal = %v, want %v", row.a, row.b, got, row.want)
		}
	}
}

func TestExceedsReportsItemsMissingFromContent(t *testing.T) {
	if !set(t, `{"f:a":{"v:\"x\"":{}}}`).Exceeds(data(t, `{"a":[]}`)) {
		t.Error("an item of a list that is no longer rendered goes unnoticed")
	}
}

func TestExtractCopiesAtomicFields(t *testing.T) {
	for _, value := range []string{`{"a":{"b":1}}`, `{"a":[1,{"b":2}]}`, `{"a":1}`} {
		if got := set(t, `{"f:a":{}}`).Extract(data(t, value)); !EqualValues(got, data(t, value)) {
			t.Errorf("extract of %s = %v", value, got)
		}
	}
}

// TestHoldsComparesDesiredWithCurrent compares desired content with the content that a server returns.
func TestHoldsComparesDesiredWithCurrent(t *testing.T) {
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
		"a quantity is written otherwise":      {`{}`, `{"limits":{"cpu":"1000m"}}`, `{"limits":{"cpu":"1"}}`, false, true},
		"a quantity is a number":               {`{}`, `{"spec":[{"hard":{"pods":2}}]}`, `{"spec":[{"hard":{"pods":"2"}}]}`, false, true},
		"another quantity":                     {`{}`, `{"limits":{"cpu":"1000m"}}`, `{"limits":{"cpu":"2"}}`, false, false},
		"a text that looks like a quantity":    {`{}`, `{"env":[{"value":"1.10"}]}`, `{"env":[{"value":"1.1"}]}`, false, false},
		"a text under the name of a quantity":  {`{}`, `{"data":{"limits":"1.10"}}`, `{"data":{"limits":"1.1"}}`, false, false},
	} {
		t.Run(why, func(t *testing.T) {
			set := FieldSet(jsonOf(t, row.set).(map[string]any))
			if got := set.Holds(jsonOf(t, row.content), jsonOf(t, row.current)); got != row.want {
				t.Errorf("by value: %v, want %v", got, row.want)
			}
			if got := set.HoldsQuantities(jsonOf(t, row.content), jsonOf(t, row.current)); got != row.quantities {
				t.Errorf("by quantity: %v, want %v", got, row.quantities)
			}
		})
	}
}

func jsonOf(t *testing.T, text string) any {
	t.Helper()
	value, ok := Parse(text)
	if !ok {
		t.Fatalf("%s is no JSON", text)
	}
	return value
}
