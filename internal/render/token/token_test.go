package token

import "testing"

// TestResetForgetsTokens keeps the memory of a table, unless it has grown large, and none of the data in it.
func TestResetForgetsTokens(t *testing.T) {
	for room, large := range map[int]bool{2: false, mostKept: false, mostKept + 1: true} {
		table := &Table{Marker: "\ue000", all: append(make([]Token, 0, room), Token{"secret", AsIs})}
		table.NewMark()
		if got := table.Reset(); got != large || cap(table.all) != room {
			t.Errorf("%d tokens: large is %v, there is room for %d", room, got, cap(table.all))
		}
		if !large && (table.all[:1][0] != Token{} || len(table.all) > 0 || table.HasMarks()) {
			t.Errorf("%d tokens: left is %v", room, table.all[:1])
		}
	}
}
