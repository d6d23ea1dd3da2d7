package syntax

import (
	"testing"
	"text/template/parse"
)

func TestNumberLiteralsKeepTheirType(t *testing.T) {
	for text, want := range map[string]any{
		"7": int64(7), "0x1e": int64(30), "0X1E": int64(30), "-0x1e": int64(-30), "0x1P4": 16.0, "10.5": 10.5, "'.'": int64('.'), "1e3": 1000.0, "0x1p4": 16.0, "2.0": 2.0,
	} {
		tree, err := parse.Parse("t", "{{ "+text+" }}", "", "")
		if err != nil {
			t.Fatal(err)
		}
		number := tree["t"].Root.Nodes[0].(*parse.ActionNode).Pipe.Cmds[0].Args[0].(*parse.NumberNode)
		if got := Constant(number); got != want {
			t.Errorf("%s: %v (%T), want %v", text, got, got, want)
		}
	}
}
