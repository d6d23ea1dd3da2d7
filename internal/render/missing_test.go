package render

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// missingInput has a Service without an address, as a child and as a related object.
func missingInput() *Input {
	service := map[string]any{
		"kind": "Service", "metadata": map[string]any{"name": "web", "namespace": "shop", "annotations": map[string]any{"a.b/c": "x"}},
		"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}}, "status": map[string]any{"loadBalancer": map[string]any{}},
	}
	own := map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": "x"}}
	list := func(name string) ([]map[string]any, error) {
		switch name {
		case "own":
			return []map[string]any{own}, nil
		case "later":
			return nil, nil
		}
		return []map[string]any{service}, nil
	}
	return &Input{Parent: map[string]any{"kind": "App", "spec": map[string]any{"name": "one"}}, Observed: list, Related: list}
}

func TestTemplatesWaitForFieldsOfOtherObjects(t *testing.T) {
	const svc = "(first .observed.service)"
	for _, row := range []struct {
		why, expression string
		want            string // what is waited for; "" = it is a mistake
	}{
		{"a field of a child", svc + ".status.ip", ".status.ip of Service shop/web"},
		{"several fields that are missing", svc + ".status.a.b.c", ".status.a.b.c of Service shop/web"},
		{"of a related object", "(index .related.services 0).status.ip", ".status.ip of Service shop/web"},
		{"by a variable", "$s.status.ip", ".status.ip of Service shop/web"},
		{"by a variable that holds nothing", "$ip", ".status.ip of Service shop/web"},
		{"of what is in a list", "(first " + svc + ".spec.ports).nodePort", ".spec.ports.nodePort of Service shop/web"},
		{"by index", `index ` + svc + `.metadata.annotations "d.e/f"`, ".metadata.annotations['d.e/f'] of Service shop/web"},
		{"by index, several keys", `index ` + svc + ` "status" "x" "y"`, ".status.x.y of Service shop/web"},
		{"by index of a list that is missing", `(index ` + svc + `.status.loadBalancer.ingress 0).ip`, ".status.loadBalancer.ingress of Service shop/web"},
		{"by index of a list that is too short", `(index ` + svc + `.spec.ports 3).port`, ".spec.ports of Service shop/web"},
		{"by a key from data", `get ` + svc + `.metadata.annotations .spec.name`, ".metadata.annotations.… of Service shop/web"},
		{"an argument of a function", "upper " + svc + ".status.ip", ".status.ip of Service shop/web"},
		{"an argument by a pipeline", svc + ".status.ip | upper", ".status.ip of Service shop/web"},
		{"in a condition that compares", `(ternary "a" "b" (gt ` + svc + `.status.n 1))`, ".status.n of Service shop/web"},
		{"a condition", `condition "Available" ` + svc, ".status.conditions of Service shop/web"},
		{"of the parent", ".spec.none", ""},
		{"of an argument of the parent", "upper .spec.none", ""},
		{"of values", ".values.none", ""},
		{"of the template's own objects", "(first .observed.own).status.ip", ""},
		{"an object that is not there", "(index .observed.service 7).status.ip", ""},
		{"a mapping that the template has made", `(dict "a" 1).b`, ""},
		{"a required field", `required "say it" ` + svc + ".status.ip", ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			text := "{{ $s := " + svc + " }}{{ $ip := $s.status.ip }}kind: ConfigMap\nmetadata: {name: x}\ndata: {a: {{ " + row.expression + " }}}"
			p, err := Compile(Source{
				Children: []syntax.Template{{Name: "own", Text: text}, {Name: "service", Text: "# none"}}, Related: []syntax.Template{{Name: "services"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			in := missingInput()
			_, err = p.Child("own", in)
			var failure *syntax.Error
			if !errors.As(err, &failure) {
				t.Fatalf("err = %v, want one of syntax", err)
			}
			switch {
			case row.want == "" && failure.Reason == syntax.Missing:
				t.Errorf("it waits: %s", failure.Message)
			case row.want != "" && (failure.Reason != syntax.Missing || failure.Message != "children[own] waits for "+row.want):
				t.Errorf("reason %s: %s; want to wait for %s", failure.Reason, failure.Message, row.want)
			}
			if row.want == "" || strings.Contains(row.want, "…") {
				return
			}
			var asked []string
			in.MayHave = func(_ map[string]any, path []string) bool { asked = path; return false }
			_, err = p.Child("own", in)
			if !errors.As(err, &failure) || failure.Reason != syntax.Invalid || len(asked) == 0 {
				t.Errorf("where the schema has no such field (asked for %s): %v, want a mistake", asked, err)
			}
		})
	}
}

// TestMessagesOmitKeysFromData looks for a field below keys of which the templates name some.
func TestMessagesOmitKeysFromData(t *testing.T) {
	users := func(key string) *Input {
		object := map[string]any{"kind": "Directory", "metadata": map[string]any{"name": "d"}, "spec": map[string]any{"users": map[string]any{key: map[string]any{}}}}
		list := func(string) ([]map[string]any, error) { return []map[string]any{object}, nil }
		return &Input{Parent: map[string]any{"kind": "App"}, Related: list}
	}
	for _, row := range []struct{ why, key, text, want string }{
		{"an address", "alice@secret.example", "{{ range (first .related.d).spec.users }}a: {{ .token }}{{ end }}", ".spec.users.….token"},
		{"a word", "alice", "{{ range (first .related.d).spec.users }}a: {{ .token }}{{ end }}", ".spec.users.….token"},
		{"a part of a word of the template", "use", "{{ range (first .related.d).spec.users }}a: {{ .token }}{{ end }}", ".spec.users.….token"},
		{"an empty key", "", "{{ range (first .related.d).spec.users }}a: {{ .token }}{{ end }}", ".spec.users.….token"},
		{"a field in the template", "root", "{{ range (first .related.d).spec.users }}a: {{ .token }}{{ end }}{{ $.spec.root }}", ".spec.users.root.token"},
		{"a field of a variable", "root", "{{ $u := (first .related.d).spec.users }}a: {{ $u.root.token }}", ".spec.users.root.token"},
		{"a text in the template", "example.org/root", "{{ with index (first .related.d).spec.users \"example.org/root\" }}{{ else }}a: {{ (index (first .related.d).spec.users \"example.org/root\").token }}{{ end }}", ".spec.users['example.org/root'].token"},
		{"a part of a path", "root", "{{ $all := collect \"spec.root\" .related.d }}{{ range (first .related.d).spec.users }}a: {{ .token }}{{ end }}", ".spec.users.root.token"},
	} {
		t.Run(row.why, func(t *testing.T) {
			p, err := Compile(Source{Children: []syntax.Template{{Name: "m", Text: row.text}}, Related: []syntax.Template{{Name: "d"}}})
			if err != nil {
				t.Fatal(err)
			}
			in := users(row.key)
			var asked []string
			in.MayHave = func(_ map[string]any, path []string) bool { asked = slices.Clone(path); return true }
			_, err = p.Child("m", in)
			var failure *syntax.Error
			if !errors.As(err, &failure) || failure.Message != "children[m] waits for "+row.want+" of Directory d" {
				t.Errorf("%v, want to wait for %s", err, row.want)
			}
			if want := []string{"spec", "users", row.key, "token"}; !slices.Equal(asked, want) {
				t.Errorf("the schema was asked for %q, want %q", asked, want)
			}
		})
	}
}

func TestDefaultNeverWaits(t *testing.T) {
	p, err := Compile(Source{Children: []syntax.Template{{Name: "own", Text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: {{ (first .related.services).status.ip | default \"none\" }}, b: {{ if (first .related.services).status.ip }}p{{ else }}q{{ end }}}"}}, Related: []syntax.Template{{Name: "services"}}})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := p.Child("own", missingInput())
	if err != nil || !cmp.Equal(objects[0].Content["data"], any(map[string]any{"a": "none", "b": "q"})) {
		t.Errorf("got %v and error %v", objects, err)
	}
}

func TestStatusOmitsMissingFieldsOfOtherObjects(t *testing.T) {
	const svc = "(first .children.service)"
	for _, row := range []struct {
		why, text string
		want      map[string]any
	}{
		{"a field", "a: {{ " + svc + ".status.ip }}\nb: 1", map[string]any{"b": int64(1)}},
		{"in quotes", "a: \"{{ " + svc + ".status.ip }}\"\nb: 1", map[string]any{"b": int64(1)}},
		{"a part of a text", "a: http://{{ " + svc + ".status.ip }}:80\nb: 1", map[string]any{"b": int64(1)}},
		{"in a block", "a: |\n  ip {{ " + svc + ".status.ip }}\nb: 1", map[string]any{"b": int64(1)}},
		{"an item of a list", "a: [x, {{ " + svc + ".status.ip }}]", map[string]any{"a": []any{"x"}}},
		{"a key", "{{ " + svc + ".status.ip }}: 1\nb: 1", map[string]any{"b": int64(1)}},
		{"an argument", "a: {{ printf \"%s:80\" " + svc + ".status.ip | quote }}\nb: 1", map[string]any{"b": int64(1)}},
		{"by a variable", "{{ $x := upper " + svc + ".status.ip }}a: {{ $x }}\nb: 1", map[string]any{"b": int64(1)}},
		{"in a condition", "a: {{ if gt " + svc + ".status.n 1 }}x{{ else }}z{{ end }}\nb: 1", map[string]any{"a": "z", "b": int64(1)}},
		{"of included text", "{{ define \"h\" }}ip: {{ .status.ip }}\nport: 1{{ end }}a:\n  {{- include \"h\" " + svc + " | nindent 2 }}\nb: 1", map[string]any{"a": map[string]any{"port": int64(1)}, "b": int64(1)}},
		{"text computed of included text", "{{ define \"h\" }}{{ .status.ip }}{{ end }}a: {{ include \"h\" " + svc + " | upper }}\nb: 1", map[string]any{"b": int64(1)}},
		{"of a child that does not exist yet", "a: {{ (first .children.later).status.ip }}\nb: 1", map[string]any{"b": int64(1)}},
		{"all there is", "{{ " + svc + ".status.none }}", map[string]any{}},
	} {
		t.Run(row.why, func(t *testing.T) {
			p, err := Compile(Source{Children: []syntax.Template{{Name: "service", Text: "# none"}, {Name: "later", Text: "# none"}}, Status: row.text})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time, the shape is known
				got, err := p.Status(missingInput())
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(row.want, got); diff != "" {
					t.Errorf("status (-want +got):\n%s", diff)
				}
			}
		})
	}
}
