package object

import (
	"strings"
	"testing"
)

// TestFollowRecordsAuthorOfChange compares states of one object. The seals are not signed, because Follow does not verify them.
// The owned hash of the earlier state is 7.
func TestFollowRecordsAuthorOfChange(t *testing.T) {
	const (
		five = "1:2:5:x:::maps"
		six  = "1:2:6:x:::maps"
		old  = "1:4:x:maps" // format 1
		text = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "u", "labels": {"templater.dev/controller": "apps"}, ` +
			`"annotations": {"templater.dev/seal": "SEAL"}, "managedFields": [{"manager": "templater/apps", "operation": "Apply", "fieldsType": "FieldsV1", ` +
			`"fieldsV1": {"f:data": {"f:x": {}}, "f:metadata": {"f:labels": {"f:templater.dev/controller": {}}, "f:ownerReferences": {"k:{\"uid\":\"p\"}": {}}}}}]}, ` +
			`"data": {"x": "1"}, "more": 1}`
	)
	sealed := func(seal string) string { return strings.Replace(text, "SEAL", seal, 1) }
	edited := func(was, is string) string {
		if !strings.Contains(sealed(five), was) {
			t.Fatalf("there is no %s", was)
		}
		return strings.Replace(sealed(five), was, is, 1)
	}
	owning := func(references string) string { // a top-level field of that name, which a kind may have
		return strings.NewReplacer(`"f:data"`, `"f:ownerReferences": {}, "f:data"`, `"more": 1`, `"ownerReferences": `+references).Replace(sealed(five))
	}
	type facts struct {
		noted Fact
		owned uint32
	}
	for why, row := range map[string]struct {
		before, after string
		known         Fact
		own, want     facts
	}{
		"nothing happened":                           {sealed(five), sealed(five), Covered, facts{}, facts{Covered, 7}},
		"nobody has compared the values":             {sealed(five), sealed(five), 0, facts{}, facts{0, 7}},
		"a value that we own has changed":            {sealed(five), edited(`"x": "1"`, `"x": "2"`), Covered, facts{}, facts{0, 7}},
		"a label has changed":                        {sealed(five), edited(`"apps"},`, `"apps", "a": "b"},`), Covered, facts{}, facts{0, 7}},
		"the label names another controller":         {sealed(five), edited(`/controller": "apps"`, `/controller": "x"`), Covered, facts{}, facts{0, 7}},
		"we own another field":                       {sealed(five), edited(`"f:x"`, `"f:y"`), Covered, facts{}, facts{0, 7}},
		"a field of others has changed":              {sealed(five), edited(`"more": 1`, `"more": 2`), Covered, facts{}, facts{Covered, 7}},
		"an annotation of others has changed":        {sealed(five), edited(`:::maps"}`, `:::maps", "a": "b"}`), Covered, facts{}, facts{Covered, 7}},
		"a field called ownerReferences has changed": {owning(`["a"]`), owning(`["b"]`), Covered, facts{}, facts{0, 7}},
		"an owner reference has changed":             {sealed(five), edited(`"name": "a"`, `"name": "a", "ownerReferences": []`), Covered, facts{}, facts{Covered, 7}},
		"it is another object":                       {sealed(five), edited(`"uid": "u"`, `"uid": "v"`), Covered | Restored, facts{}, facts{}},
		"a seal was restored before":                 {sealed(five), sealed(five), Restored, facts{}, facts{Restored, 7}},
		"another replica has applied":                {sealed(five), sealed(six), Covered, facts{}, facts{}},
		"an earlier seal is restored":                {sealed(six), sealed(five), Covered, facts{}, facts{Restored, 0}},
		"the seal is removed":                        {sealed(five), sealed(""), 0, facts{}, facts{Restored, 0}},
		"the seal becomes something else":            {sealed(five), sealed("x"), 0, facts{}, facts{Restored, 0}},
		"a seal of format 1 is restored":             {sealed(five), sealed(old), 0, facts{}, facts{Restored, 0}},
		"a seal of format 1 is renewed":              {sealed(old), sealed(five), 0, facts{}, facts{}},
		"another earlier seal is restored":           {sealed(""), sealed(five), Restored, facts{}, facts{Restored, 0}},
		"we have written it":                         {sealed(five), sealed(six), Covered | Restored, facts{OwnWrite, 9}, facts{OwnWrite, 9}},
		"we have written it with the same seal":      {sealed(five), sealed(five), Covered | Restored, facts{OwnWrite, 9}, facts{OwnWrite, 9}},
	} {
		t.Run(why, func(t *testing.T) {
			before, after := decode(t, row.before), decode(t, row.after)
			before.Note(row.known)
			before.SetOwned(7)
			after.Note(row.own.noted)
			after.SetOwned(row.own.owned)
			after.Follow(before)
			if got := (facts{Fact(after.noted.Load()), after.Owned()}); got != row.want {
				t.Errorf("facts %+v, want %+v", got, row.want)
			}
		})
	}
}

// TestApplyResponseOverridesWatchProvenance receives the watch event before the response with the same state.
func TestApplyResponseOverridesWatchProvenance(t *testing.T) {
	event, answer := decode(t, `{"metadata": {"name": "a", "uid": "u"}}`), decode(t, `{"metadata": {"name": "a", "uid": "u"}}`)
	event.Note(Restored)
	answer.Note(Ours | OwnWrite)
	answer.SetOwned(7)
	event.Written(answer)
	if event.Noted(Restored) || event.Owned() != 7 {
		t.Error("a seal counts as restored, or the values as those of somebody else")
	}
}
