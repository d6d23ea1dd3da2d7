package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const passing = `{"Action":"output","Package":"p","Output":"the cluster is up\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"of no interest\n"}
{"Action":"pass","Package":"p","Test":"TestA/sub","Elapsed":0.5}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":1.5}
{"Action":"skip","Package":"p","Test":"TestC","Elapsed":0}
{"Action":"pass","Package":"p","Elapsed":3}
`

func TestPassingTestsAreALineEach(t *testing.T) {
	var out strings.Builder
	if err := tell(strings.NewReader(passing), &out); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff("the cluster is up\npass TestA 1.5s\nskip TestC 0.0s\n", out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFailedTestsAreShownInFull(t *testing.T) {
	var out strings.Builder
	err := tell(strings.NewReader(passing+`{"Action":"output","Package":"p","Test":"TestB/sub","Output":"=== RUN\n what is wrong\nand why\n"}
{"Action":"fail","Package":"p","Test":"TestB/sub","Elapsed":0.5}
{"Action":"fail","Package":"p","Test":"TestB","Elapsed":0.5}
{"Action":"fail","Package":"p","Elapsed":3}
no event at all
`), &out)
	if err == nil || err.Error() != "tests have failed:\nTestB/sub: what is wrong | and why" {
		t.Errorf("error %v", err)
	}
	_, got, _ := strings.Cut(out.String(), "skip TestC 0.0s\n")
	if diff := cmp.Diff("=== RUN\n what is wrong\nand why\nfail TestB/sub 0.5s\nfail TestB 0.5s\nno event at all\n", got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPackageThatDoesNotBuildFails(t *testing.T) {
	var out strings.Builder
	err := tell(strings.NewReader(`{"ImportPath":"p","Action":"build-output","Output":"main.go:1: syntax error\n"}
{"ImportPath":"p","Action":"build-fail"}
`), &out)
	if err == nil || out.String() != "main.go:1: syntax error\n" {
		t.Errorf("error %v, output %q", err, out.String())
	}
}
