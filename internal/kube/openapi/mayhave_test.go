package openapi

import "testing"

func TestMayHaveReportsPossibleFields(t *testing.T) {
	text := &Type{Kinds: String}
	kind := &Type{Kinds: Map, Fields: map[string]Field{
		"ip": {Type: text}, "any": {}, "data": {Type: &Type{Kinds: Map, Items: text}}, "list": {Type: &Type{Kinds: List, Items: &Type{Kinds: Map, Fields: map[string]Field{"host": {Type: text}}}}},
		"open": {Type: &Type{Kinds: Map, Fields: map[string]Field{"a": {Type: text}}, Open: true}},
	}}
	for why, row := range map[string]struct {
		of   *Type
		path []string
		want bool
	}{
		"a kind that is not known":        {nil, []string{"a", "b"}, true},
		"a field of the schema":           {kind, []string{"ip"}, true},
		"no field of the schema":          {kind, []string{"port"}, false},
		"a field of a text":               {kind, []string{"ip", "v4"}, false},
		"below anything":                  {kind, []string{"any", "a", "b"}, true},
		"a key of a map":                  {kind, []string{"data", "x"}, true},
		"a field of a text in a map":      {kind, []string{"data", "x", "y"}, false},
		"a field of an item":              {kind, []string{"list", "host"}, true},
		"no field of an item":             {kind, []string{"list", "port"}, false},
		"one that an open map may have":   {kind, []string{"open", "b"}, true},
		"one below it, which is a scalar": {kind, []string{"open", "a", "c"}, false},
	} {
		t.Run(why, func(t *testing.T) {
			if got := row.of.MayHave(row.path); got != row.want {
				t.Errorf("may have %v: %v, want %v", row.path, got, row.want)
			}
		})
	}
}
