package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/finding"
)

// manifestOf returns the JSON of a TemplateController with these child templates.
func manifestOf(entries ...string) string {
	return `{"metadata": {"name": "apps"}, "spec": {"watch": {"apiVersion": "v1", "kind": "Pod"}, "children": [` + strings.Join(entries, ", ") + `]}}`
}

func entries(number int, template string) []string {
	all := make([]string, number)
	for i := range all {
		all[i] = fmt.Sprintf(`{"name": "e%d", "template": "%s"}`, i, template)
	}
	return all
}

// askAbout sends the review of a new object as raw text.
func askAbout(t *testing.T, h *Handler, object string) *admissionv1.AdmissionResponse {
	t.Helper()
	code, answer := send(t, h, reviewOf(object))
	got := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal([]byte(answer), got); err != nil || code != http.StatusOK {
		t.Fatalf("answer %d %q", code, answer)
	}
	return got.Response
}

func reviewOf(object string) string {
	return `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u-1", "operation": "CREATE", "object": ` + object + `}}`
}

// counting returns a Handler that counts checks, which return nothing.
func counting(checks *int) *Handler {
	return newHandler(&Handler{Check: func(_, _ context.Context, _ *v1.TemplateController) []finding.Finding { *checks++; return nil }})
}

// TestSpecBeyondCRDLimitsIsNotCompiled: the limits of the CRD and of etcd also apply to clients that are not API
// servers.
func TestSpecBeyondCRDLimitsIsNotCompiled(t *testing.T) {
	const most = 262_144
	ones := strings.Repeat("{{1}}", 104_000)
	for why, row := range map[string]struct{ object, want string }{
		"as many entries as may be":   {manifestOf(entries(64, "a")...), "yes"},
		"one entry more":              {manifestOf(entries(65, "a")...), "no: spec.children has more than 64 entries: use at most 64"},
		"an entry that is no object":  {manifestOf("1"), "no: spec.children[0] is not a mapping"},
		"an entry that lacks a field": {manifestOf(`{"name": "a", "template": "b"}`, `{"template": "b"}`), "no: spec.children[1] has no name"},
		"a requirement of a selector that is empty": {
			strings.Replace(manifestOf(entries(1, "a")...), `"children"`, `"related": [{"apiVersion": "v1", "kind": "Pod", "name": "a", "labelSelector": {"matchExpressions": [{}]}}], "children"`, 1),
			"no: spec.related[0].labelSelector.matchExpressions[0] has no key",
		},
		"entries that are given again": {
			strings.Replace(manifestOf(entries(1, "a")...), `"children"`, `"children": [`+strings.Join(entries(65, "a"), ",")+`], "children"`, 1),
			"no: spec.children has more than 64 entries: use at most 64",
		},
		"a template as long as may be": {manifestOf(entries(1, strings.Repeat("ä", most))...), "yes"},
		"one character more":           {manifestOf(entries(1, strings.Repeat("ä", most+1))...), "no: spec.children[0].template has 262145 characters; the limit is 262144"},
		"in a nested field":            {manifestOf(`{"name": "a", "template": "b"}, {"name": "c", "template": "d", "dependsOn": ["` + strings.Repeat("x", 64) + `"]}`), "no: spec.children[1].dependsOn[0] has 64 characters; the limit is 63"},
		"in more bytes than etcd takes": {
			strings.Replace(manifestOf(entries(1, "a")...), `"name": "apps"`, `"name": "apps", "annotations": {"a": "`+strings.Repeat("x", objectLimit)+`"}`, 1),
			fmt.Sprintf("no: the object has %d bytes; the limit is 1572864", len(manifestOf(entries(1, "a")...))+len(`, "annotations": {"a": ""}`)+objectLimit),
		},
		"as the attack":                  {manifestOf(entries(2, ones)...), "no: spec.children[0].template has 520000 characters; the limit is 262144"},
		"deep nesting where none counts": {strings.Replace(manifestOf(entries(1, "a")...), `"metadata"`, `"x": `+strings.Repeat("[", 9_000)+strings.Repeat("]", 9_000)+`, "metadata"`, 1), "yes"},
	} {
		t.Run(why, func(t *testing.T) {
			checks := 0
			got := outcomeOf(askAbout(t, counting(&checks), row.object))
			if got != row.want {
				t.Errorf("the answer is %.200s, want %s", got, row.want)
			}
			if (checks > 0) != (row.want == "yes") {
				t.Errorf("it is checked %d times", checks)
			}
		})
	}
}

// TestOversizedOldSpecIsNotCompiled allows updates of objects that the API server allowed earlier.
func TestOversizedOldSpecIsNotCompiled(t *testing.T) {
	checks := 0
	if got := outcomeOf(ask(t, counting(&checks), manifestOf(entries(65, "a")...), manifestOf(entries(65, "b")...))); got != "yes\n"+unchecked || checks > 0 {
		t.Errorf("the answer is %s after %d checks", got, checks)
	}
}

// TestReviewIsNotCompiledWithoutMemory: waiting for memory is limited by the time for the response.
func TestReviewIsNotCompiledWithoutMemory(t *testing.T) {
	checks := 0
	h := counting(&checks)
	h.limit = 10 * time.Millisecond
	h.Reserve = func(ctx context.Context) (func(), error) {
		<-ctx.Done()
		return nil, errors.New("canceled")
	}
	if got := outcomeOf(askAbout(t, h, manifestOf(entries(2, "a")...))); got != "yes\n"+unchecked || checks > 0 {
		t.Errorf("the answer is %s after %d checks", got, checks)
	}
}

// TestTimedOutReviewSkipsOldSpecAndReleasesMemory: the memory and the slot are released, and the old spec is not
// checked.
func TestTimedOutReviewSkipsOldSpecAndReleasesMemory(t *testing.T) {
	checks, released := 0, make(chan struct{})
	h := newHandler(&Handler{Reserve: func(context.Context) (func(), error) { return func() { close(released) }, nil }})
	h.limit = 10 * time.Millisecond
	h.Check = func(ctx, _ context.Context, _ *v1.TemplateController) []finding.Finding {
		checks++
		<-ctx.Done()
		return []finding.Finding{{Code: "TL999", Severity: finding.Error, Where: "children[maps]", Message: "wrong"}}
	}
	if got := outcomeOf(ask(t, h, fine, wrong)); got != "yes\n"+unchecked {
		t.Errorf("the answer is %s", got)
	}
	<-released
	if checks != 1 {
		t.Errorf("it is checked %d times, want once", checks)
	}
}
