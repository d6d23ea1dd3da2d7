package fields

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

func TestEqual(t *testing.T) {
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
		if got := Equal(data(t, row.a), data(t, row.b)); got != row.want {
			t.Errorf("%s and %s: equal = %v, want %v", row.a, row.b, got, row.want)
		}
	}
}

func TestItemThatTheSetAloneHasExceeds(t *testing.T) {
	if !set(t, `{"f:a":{"v:\"x\"":{}}}`).Exceeds(data(t, `{"a":[]}`)) {
		t.Error("an item of a list that is not wanted any more goes unnoticed")
	}
}

func TestExtractTakesWhatIsHeldWholeAsItIs(t *testing.T) {
	for _, value := range []string{`{"a":{"b":1}}`, `{"a":[1,{"b":2}]}`, `{"a":1}`} {
		if got := set(t, `{"f:a":{}}`).Extract(data(t, value)); !Equal(got, data(t, value)) {
			t.Errorf("extract of %s = %v", value, got)
		}
	}
}
