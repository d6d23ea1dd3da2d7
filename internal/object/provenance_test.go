package object

import (
	"strings"
	"testing"
)

// TestWhoHasWrittenAnObject compares states of one object. The seals are those of no key: whether they hold is for others to say.
func TestWhoHasWrittenAnObject(t *testing.T) {
	const (
		managed = `"managedFields": [{"manager": "templater/apps", "operation": "Apply", "time": "2026-01-01T00:00:0SZ", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}}]`
		five    = "1:2:5:x:::maps"
		six     = "1:2:6:x:::maps"
		old     = "1:4:x:maps" // of format 1
	)
	state := func(seal, second string) *Object {
		text := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "u", "labels": {"templater.dev/controller": "apps"}, "annotations": {"templater.dev/seal": "` + seal + `"}, ` + strings.Replace(managed, "S", second, 1) + `}}`
		return decode(t, text)
	}
	for why, row := range map[string]struct {
		before, after *Object
		known, own    Fact
		want          Fact
	}{
		"nothing happened":                            {state(five, "1"), state(five, "1"), Fresh, 0, Fresh},
		"it was altered before":                       {state(five, "1"), state(five, "1"), Altered, 0, Altered},
		"a seal was restored before":                  {state(five, "1"), state(five, "1"), Restored, 0, Restored},
		"somebody has applied in our name":            {state(five, "1"), state(five, "2"), Fresh, 0, Altered},
		"somebody has, where a seal was restored":     {state(five, "1"), state(five, "2"), Restored, 0, Altered | Restored},
		"another replica has applied":                 {state(five, "1"), state(six, "2"), Fresh, 0, 0},
		"an earlier seal is restored":                 {state(six, "1"), state(five, "1"), Fresh, 0, Restored},
		"the seal is removed":                         {state(five, "1"), state("", "1"), 0, 0, Restored},
		"the seal becomes something else":             {state(five, "1"), state("x", "1"), 0, 0, Restored},
		"a seal of format 1 is restored":              {state(five, "1"), state(old, "1"), 0, 0, Restored},
		"a seal of format 1 is renewed":               {state(old, "1"), state(five, "1"), 0, 0, 0},
		"another earlier seal is restored":            {state("", "1"), state(five, "1"), Restored, 0, Restored},
		"we have applied it":                          {state(five, "1"), state(six, "2"), Altered | Restored, Ours | Fresh, Fresh},
		"we have marked it":                           {state(five, "1"), state(six, "2"), Fresh, Ours, Fresh},
		"we have marked it, and it was altered":       {state(five, "1"), state(six, "2"), Altered, Ours, Altered},
		"we have marked it after a seal was put back": {state(five, "1"), state(six, "2"), Restored, Ours, 0},
	} {
		t.Run(why, func(t *testing.T) {
			row.before.Note(row.known)
			row.after.Note(row.own)
			row.after.Follow(row.before)
			if got := Fact(row.after.noted.Load()) & (Fresh | Altered | Restored); got != row.want {
				t.Errorf("facts %b, want %b", got, row.want)
			}
		})
	}
}

// TestResponseToAWriteShowsItsAuthor comes after the watch has brought the same state.
func TestResponseToAWriteShowsItsAuthor(t *testing.T) {
	event, answer := decode(t, `{"metadata": {"name": "a", "uid": "u"}}`), decode(t, `{"metadata": {"name": "a", "uid": "u"}}`)
	event.Note(Restored | Altered)
	answer.Note(Ours | Fresh)
	event.Written(answer)
	if event.Noted(Restored) || event.Noted(Altered) || !event.Noted(Fresh) {
		t.Error("the object counts as restored or altered, or not as written by this process")
	}
}
