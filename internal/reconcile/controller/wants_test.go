package controller

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

func TestRetryIntervalForMissingKinds(t *testing.T) {
	gone, defined := &kind.NotFoundError{}, &kind.NotFoundError{Definition: "x"}
	unanswered := errors.New("no answer")
	for why, row := range map[string]struct {
		parents, children error
		want              string
	}{
		"all are there":                            {nil, nil, "never"},
		"a definition will tell":                   {defined, nil, "never"},
		"the parents' may come without one":        {gone, defined, "slowly"},
		"a child's may come without one":           {nil, gone, "slowly"},
		"the server does not tell the parents'":    {unanswered, gone, "soon"},
		"the server does not tell that of a child": {gone, unanswered, "soon"},
	} {
		a := Wants{KindErr: row.parents, Children: map[schema.GroupKind]ChildWant{{Kind: "A"}: {}, {Kind: "B"}: {Err: row.children}}}
		got := "never"
		switch again := a.Recheck(); {
		case again >= problem.SlowRetry:
			got = "slowly"
		case again >= UnansweredRetry:
			got = "soon"
		case again != 0:
			got = fmt.Sprint(again)
		}
		if got != row.want {
			t.Errorf("%s: asked again %s, want %s", why, got, row.want)
		}
	}
}
