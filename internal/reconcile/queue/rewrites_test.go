package queue

import (
	"testing"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

func TestRewriteAdviceNamesCause(t *testing.T) {
	public := problem.Author(func(string) bool { return true }).Path
	write := func(n int64) func(*Rewrites) {
		return func(f *Rewrites) {
			f.Apply("ConfigMap ns/a", map[string]any{"data": map[string]any{"n": n, "m": int64(1)}}, "", public)
		}
	}
	repair := func(f *Rewrites) {
		f.Apply("ConfigMap ns/a", nil, ".data.n", public)
	}
	owned := object.FieldSet{"f:count": map[string]any{}}
	status := func(owned object.FieldSet, count int64) func(*Rewrites) {
		return func(f *Rewrites) {
			f.Status(owned, map[string]any{"count": count, "conditions": []any{count}}, public)
		}
	}
	const (
		nobody = "every reconciliation of this object causes another write: find the client that also writes to it or its children (kubectl get -o yaml --show-managed-fields)"
		other  = "another client keeps changing "
		find   = ": find it with kubectl get -o yaml --show-managed-fields, and let only one of the two set these fields: that client or the template"
		own    = "the templates render different output in every reconciliation for "
		let    = ": do not compute these fields from fields that templater writes"
	)
	for why, row := range map[string]struct {
		writes []func(*Rewrites)
		want   string
	}{
		"nothing is known yet":                                   {want: nobody},
		"the first write says nothing":                           {[]func(*Rewrites){write(1)}, nobody},
		"the template yields other values":                       {[]func(*Rewrites){write(1), write(2), write(3)}, own + "ConfigMap ns/a .data.n" + let},
		"the same is written again, so somebody has undone it":   {[]func(*Rewrites){write(1), write(1)}, other + "ConfigMap ns/a" + find},
		"somebody has taken a field of a child":                  {[]func(*Rewrites){repair}, other + "ConfigMap ns/a .data.n" + find},
		"the status template yields other values":                {[]func(*Rewrites){status(owned, 1), status(owned, 2)}, own + ".status.count" + let},
		"somebody has taken a field of the status":               {[]func(*Rewrites){status(owned, 1), status(nil, 1)}, other + ".status.count" + find},
		"conditions follow the rest":                             {[]func(*Rewrites){status(owned, 1), status(owned, 1)}, nobody},
		"both":                                                   {[]func(*Rewrites){write(1), write(1), status(owned, 1), status(owned, 2)}, other + "ConfigMap ns/a" + find + "; " + own + ".status.count" + let},
		"a child that the template yields and takes back":        {[]func(*Rewrites){func(f *Rewrites) { f.Remove("ConfigMap ns/a") }, write(1)}, own + "ConfigMap ns/a" + let},
		"one that it yields again":                               {[]func(*Rewrites){write(1), func(f *Rewrites) { f.Remove("ConfigMap ns/a") }, write(1)}, own + "ConfigMap ns/a" + let},
		"the first status says nothing":                          {[]func(*Rewrites){status(nil, 1)}, nobody},
		"what is found stays the same, whatever is written next": {[]func(*Rewrites){write(1), write(2), write(2), write(4)}, other + "ConfigMap ns/a" + find + "; " + own + "ConfigMap ns/a .data.n" + let},
	} {
		t.Run(why, func(t *testing.T) {
			f := NewRewrites()
			for _, write := range row.writes {
				write(f)
			}
			if got := f.Advice(); got != row.want {
				t.Errorf("advice:\n%s\nwant:\n%s", got, row.want)
			}
		})
	}
	if got := (*Rewrites)(nil).Advice(); got != nobody {
		t.Errorf("advice without flaps: %s", got)
	}
}

func TestRememberedRewritesAreLimited(t *testing.T) {
	f := NewRewrites()
	for _, field := range []string{"g", "f", "e", "d", "c", "b", "a"} {
		f.take(field)
		f.take(field)
	}
	if len(f.taken) != maxRewrites || f.taken[0] != "c" {
		t.Errorf("remembered %v, want the first %d, sorted", f.taken, maxRewrites)
	}
}

func TestDiffersReturnsFirstDifferentPath(t *testing.T) {
	for why, row := range map[string]struct {
		a, b map[string]any
		want string
	}{
		"nowhere":                         {map[string]any{"a": "x"}, map[string]any{"a": "x"}, ""},
		"null is there in the first":      {map[string]any{"a": nil}, map[string]any{}, ".a"},
		"null is there in the second":     {map[string]any{}, map[string]any{"a": nil}, ".a"},
		"null is there in both":           {map[string]any{"a": nil}, map[string]any{"a": nil}, ""},
		"a field below":                   {map[string]any{"a": map[string]any{"b": "x"}}, map[string]any{"a": map[string]any{"b": "y"}}, ".a.b"},
		"a mapping against a scalar":      {map[string]any{"a": map[string]any{"b": "x"}}, map[string]any{"a": "x"}, ".a"},
		"a scalar against a mapping":      {map[string]any{"a": "x"}, map[string]any{"a": map[string]any{"b": "x"}}, ".a"},
		"the first of two, by their name": {map[string]any{"b": "x", "a": "x"}, map[string]any{"b": "y", "a": "y"}, ".a"},
	} {
		if got := differs(row.a, row.b); got != row.want {
			t.Errorf("%s: %q, want %q", why, got, row.want)
		}
	}
}

func TestRecordedStatusIsNotModified(t *testing.T) {
	status := map[string]any{"count": int64(1), "conditions": []any{}}
	if NewRewrites().Status(nil, status, nil); len(status) != 2 {
		t.Errorf("of the status %v is left", status)
	}
}
