package admission

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/render/finding"
)

const fine = `
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children:
  - name: maps
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: {{ .metadata.name }}
`

// wrong is fine with an error.
var wrong = strings.Replace(fine, ".metadata.name", "lowre .metadata.name", 1)

const wrongText = "children[maps]:4:12: unknown function lowre; did you mean lower? [TL003]\n" +
	"    4 |   name: {{ lowre .metadata.name }}\n" +
	"      |            ^^^^^ lower"

// asBefore is the warning for an existing error.
const asBefore = "existing error: children[maps]:4:12: unknown function lowre; did you mean lower? [TL003]: templater does not accept this spec until this is fixed"

// newHandler returns a Handler with a long limit, because the machine may be busy.
func newHandler(h *Handler) *Handler {
	h = New(h)
	h.limit = time.Minute
	return h
}

func compile(_, _ context.Context, tc *v1.TemplateController) []finding.Finding {
	return lint.Check(tc, nil).Findings
}

// warn returns two warnings for each TemplateController.
func warn(_, _ context.Context, _ *v1.TemplateController) []finding.Finding {
	return []finding.Finding{
		{Code: "TL999", Severity: finding.Warning, Where: "children[maps]", Line: 4, Column: 9, Message: "it may not be there"},
		{Code: "TL999", Severity: finding.Warning, Where: "helpers", Message: strings.Repeat("long ", 100)},
	}
}

func raw(t *testing.T, manifest string) []byte {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// ask sends the review of a TemplateController; before is "" for a new one.
func ask(t *testing.T, h *Handler, before, after string) *admissionv1.AdmissionResponse {
	t.Helper()
	request := &admissionv1.AdmissionRequest{UID: "u-1", Operation: admissionv1.Create}
	request.Object.Raw = raw(t, after)
	if before != "" {
		request.Operation, request.OldObject.Raw = admissionv1.Update, raw(t, before)
	}
	return post(t, h, request)
}

func post(t *testing.T, h *Handler, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	t.Helper()
	body, err := json.Marshal(admissionv1.AdmissionReview{Request: request})
	if err != nil {
		t.Fatal(err)
	}
	code, answer := send(t, h, strings.Replace(string(body), "{", `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", `, 1))
	review := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal([]byte(answer), review); err != nil || code != http.StatusOK {
		t.Fatalf("answer %d %q", code, answer)
	}
	if review.GroupVersionKind() != reviews || review.Response.UID != request.UID {
		t.Errorf("the answer is a %s about %s", review.GroupVersionKind(), review.Response.UID)
	}
	return review.Response
}

func send(t *testing.T, h *Handler, body string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

// outcomeOf returns "yes" or "no: MESSAGE", and the warnings.
func outcomeOf(r *admissionv1.AdmissionResponse) string {
	out := "yes"
	if !r.Allowed {
		out = "no: " + r.Result.Message
	}
	return strings.Join(append([]string{out}, r.Warnings...), "\n")
}

func TestWebhookRejectsInvalidWrites(t *testing.T) {
	suspended := func(manifest string) string {
		return strings.Replace(manifest, "spec:\n", "spec:\n  suspend: true\n", 1)
	}
	other := strings.Replace(wrong, "spec:\n", "spec:\n  className: other\n", 1)
	down := strings.Replace(wrong, "template: |\n", "template: |\n      # a line more\n", 1)
	for why, row := range map[string]struct{ before, after, want string }{
		"a good one":                        {"", fine, "yes"},
		"a mistake":                         {"", wrong, "no: " + wrongText},
		"a mistake that is new":             {fine, wrong, "no: " + wrongText},
		"a mistake that is mended":          {wrong, fine, "yes"},
		"the spec stays":                    {wrong, strings.Replace(wrong, "{name: apps}", "{name: apps, finalizers: [a]}", 1), "yes"},
		"same error before":                 {wrong, suspended(wrong), "yes\n" + asBefore},
		"same error before, one line above": {wrong, suspended(down), "yes\n" + strings.Replace(asBefore, ":4:", ":5:", 1)},
		"another mistake in place of one":   {strings.Replace(fine, ".metadata.name", "uper .metadata.name", 1), wrong, "no: " + wrongText},
		"another installation serves it":    {"", other, "yes"},
		"being deleted":                     {fine, strings.Replace(wrong, "{name: apps}", "{name: apps, deletionTimestamp: '2026-01-01T00:00:00Z'}", 1), "yes"},
	} {
		if diff := cmp.Diff(row.want, outcomeOf(ask(t, newHandler(&Handler{Check: compile}), row.before, row.after))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", why, diff)
		}
	}
	h := newHandler(&Handler{Check: compile, Class: "other"})
	if r := ask(t, h, "", other); r.Allowed || r.Result.Reason != "Invalid" || r.Result.Code != http.StatusUnprocessableEntity {
		t.Errorf("the installation that serves it answers %+v", r)
	}
}

func TestRequestsOtherThanSpecWritesAreAllowed(t *testing.T) {
	h := newHandler(&Handler{Check: compile})
	for _, request := range []admissionv1.AdmissionRequest{
		{Operation: admissionv1.Update, SubResource: "status"}, {Operation: admissionv1.Delete}, {Operation: admissionv1.Connect},
	} {
		request.Object.Raw = raw(t, wrong)
		if r := post(t, h, &request); !r.Allowed {
			t.Errorf("%s %s is refused", request.Operation, request.SubResource)
		}
	}
}

func TestWebhookWarningsAreShortLines(t *testing.T) {
	r := ask(t, newHandler(&Handler{Check: warn}), "", fine)
	if !r.Allowed || len(r.Warnings) != 2 || r.Warnings[0] != "children[maps]:4:9: it may not be there" || len(r.Warnings[1]) > maxWarningLength {
		t.Errorf("the answer is %+v", r)
	}
}

// An existing error does not prevent the write, but the spec is not accepted. The warning always says so, even if it is
// long.
func TestExistingErrorIsMarkedInWarnings(t *testing.T) {
	h := newHandler(&Handler{Check: func(_, _ context.Context, _ *v1.TemplateController) []finding.Finding {
		return []finding.Finding{
			{Code: "TL998", Severity: finding.Error, Where: "children[maps]", Line: 4, Column: 9, Message: strings.Repeat("long ", 100)},
			{Code: "TL999", Severity: finding.Warning, Where: "helpers", Message: "it may not be there"},
		}
	}})
	r := ask(t, h, fine, strings.Replace(fine, "spec:\n", "spec:\n  suspend: true\n", 1))
	if !r.Allowed || len(r.Warnings) != 2 {
		t.Fatalf("the answer is %+v", r)
	}
	if got := r.Warnings[0]; len(got) > maxWarningLength || !strings.HasPrefix(got, "existing error: children[maps]:4:9: long ") || !strings.HasSuffix(got, " [TL998]"+stopped) {
		t.Errorf("the error is %q, %d bytes", got, len(got))
	}
	if got := r.Warnings[1]; got != "helpers: it may not be there" {
		t.Errorf("the warning is %q", got)
	}
}

func TestLongDiagnosticListIsTruncated(t *testing.T) {
	many := func(severity finding.Severity) *Handler {
		return newHandler(&Handler{Check: func(_, _ context.Context, _ *v1.TemplateController) (all []finding.Finding) {
			for line := range 50 {
				all = append(all, finding.Finding{Code: "TL999", Severity: severity, Where: "children[maps]", Line: line + 100, Message: "wrong"})
			}
			return all
		}})
	}
	if r := ask(t, many(finding.Error), "", fine); !strings.HasSuffix(r.Result.Message, "children[maps]:109: wrong [TL999]\nand 40 more") {
		t.Errorf("the answer is %q", r.Result.Message)
	}
	if r := ask(t, many(finding.Warning), "", fine); len(r.Warnings) != 11 || r.Warnings[10] != "and 40 more: see the Linted condition" {
		t.Errorf("the answer is %q", r.Warnings)
	}
}

// The line of the template is quoted below its error, if there is one, including the first and the last line.
func TestTemplateLineIsQuotedBelowError(t *testing.T) {
	for line, want := range map[int]string{
		0: "children[maps]: wrong [TL999]", 1: "    1 | apiVersion: v1\n", 4: "    4 |   name: {{ .metadata.name }}\n", 5: "children[maps]:5: wrong [TL999]", 6: "children[maps]:6: wrong [TL999]",
	} {
		h := newHandler(&Handler{Check: func(_, _ context.Context, _ *v1.TemplateController) []finding.Finding {
			return []finding.Finding{{Code: "TL999", Severity: finding.Error, Where: "children[maps]", Line: line, Message: "wrong"}}
		}})
		got := ask(t, h, "", fine).Result.Message
		if !strings.Contains(got, want) || strings.Contains(got, "\n") != strings.Contains(want, "\n") {
			t.Errorf("line %d: the answer is %q", line, got)
		}
	}
	h := newHandler(&Handler{Check: compile})
	if got := ask(t, h, "", `{spec: {watch: {apiVersion: v1, kind: Pod}, children: [{name: maps, template: "{{ lowre 1 }}"}]}}`).Result.Message; !strings.Contains(got, "    1 | {{ lowre 1 }}\n") {
		t.Errorf("the only line: the answer is %q", got)
	}
}

// The old spec is only checked if the new one has errors.
func TestValidSpecIsCheckedOnce(t *testing.T) {
	looks := 0
	h := newHandler(&Handler{Check: func(ctx, reading context.Context, tc *v1.TemplateController) []finding.Finding {
		looks++
		return compile(ctx, reading, tc)
	}})
	if r := ask(t, h, wrong, fine); !r.Allowed || looks != 1 {
		t.Errorf("it is looked at %d times, allowed %v", looks, r.Allowed)
	}
}

func TestMalformedReviewsAreRejected(t *testing.T) {
	defective := newHandler(&Handler{Check: func(_, _ context.Context, _ *v1.TemplateController) []finding.Finding { panic("a defect") }})
	const review = `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", `
	for body, want := range map[string]string{
		"":    "the body is not an AdmissionReview of at most 4 MiB",
		"s3c": "the body is not an AdmissionReview of at most 4 MiB",
		`"` + strings.Repeat("x", bodyLimit) + `"`: "the body is not an AdmissionReview of at most 4 MiB",
		"{}": "the body is not an AdmissionReview of admission.k8s.io/v1 with a request",
		`{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": {"uid": "u-1", "operation": "DELETE"}}`: "the body is not an AdmissionReview of admission.k8s.io/v1 with a request",
		review + `"response": {}}`:                                                   "the body is not an AdmissionReview of admission.k8s.io/v1 with a request",
		review + `"request": {"operation": "CREATE"}}`:                               "request.object is not a TemplateController",
		review + `"request": {"operation": "UPDATE", "object": {}, "oldObject": 7}}`: "request.oldObject is not a TemplateController",
		review + `"request": {"operation": "CREATE", "object": {"spec": "s3cr3t"}}}`: "request.object is not a TemplateController",
		review + `"request": {"operation": "CREATE", "object": {}}}`:                 "the validation failed",
	} {
		code, answer := send(t, defective, body)
		if code != http.StatusBadRequest || strings.TrimSpace(answer) != want {
			t.Errorf("%.80s is answered %d %q, want %q", body, code, answer, want)
		}
	}
}

// A hanging check blocks no writers, and no more than maxReviews checks are running.
func TestHangingCheckDoesNotBlockWriters(t *testing.T) {
	hang := make(chan struct{})
	h := newHandler(&Handler{Check: func(_, _ context.Context, _ *v1.TemplateController) []finding.Finding {
		<-hang
		return nil
	}})
	h.limit = 10 * time.Millisecond
	for range maxReviews {
		if r := ask(t, h, "", wrong); outcomeOf(r) != "yes\n"+unchecked {
			t.Errorf("the answer is %+v", r)
		}
	}
	if code, answer := send(t, h, ""); code != http.StatusServiceUnavailable || answer != "busy\n" {
		t.Errorf("one too many is answered %d %q", code, answer)
	}
	close(hang)
	for range maxReviews {
		h.slots <- struct{}{} // after the checks have ended
	}
	for range maxReviews {
		<-h.slots
	}
	h.limit, h.Check = time.Minute, compile
	if r := ask(t, h, "", wrong); r.Allowed {
		t.Error("it does not check any more")
	}
}

// Clients that send nothing are soon disconnected.
func TestSlowRequestBodyTimesOut(t *testing.T) {
	h := newHandler(&Handler{Check: compile})
	h.bodyTimeout = 10 * time.Millisecond
	server := httptest.NewServer(h)
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, &never{t.Context().Done()})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest {
		t.Errorf("the answer is %d", answer.StatusCode)
	}
	if len(h.slots) > 0 || h.inbox.held > 0 {
		t.Error("it holds something still")
	}
}

// A partial body is never reviewed.
func TestPartialRequestBodyIsRejected(t *testing.T) {
	h := newHandler(&Handler{Check: compile})
	h.bodyTimeout = 10 * time.Millisecond
	server := httptest.NewServer(h)
	defer server.Close()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const whole = `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u-1", "operation": "DELETE"}}`
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", Path, len(whole)+1, whole); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest {
		t.Errorf("the answer is %d", answer.StatusCode)
	}
}

// The body timeout ends once the body has arrived: it does not limit the response.
func TestBodyTimeoutDoesNotLimitCheck(t *testing.T) {
	h := newHandler(&Handler{})
	h.limit, h.bodyTimeout = 20*time.Second, 100*time.Millisecond
	h.Check = func(ctx, reading context.Context, tc *v1.TemplateController) []finding.Finding {
		select {
		case <-ctx.Done():
		case <-time.After(3 * h.bodyTimeout):
		}
		if ctx.Err() != nil {
			return nil
		}
		return compile(ctx, reading, tc)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	if answer := call(t, server, wrong); !strings.Contains(answer, "unknown function lowre") {
		t.Errorf("the answer is %s", answer)
	}
}

// call sends the review of a new TemplateController to a server, and returns the response.
func call(t *testing.T, server *httptest.Server, manifest string) string {
	t.Helper()
	body := `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u-1", "operation": "CREATE", "object": ` + string(raw(t, manifest)) + `}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("the answer is %s", got)
	}
	return answer.Status + " " + string(text)
}

// never is a body that never arrives.
type never struct{ done <-chan struct{} }

func (n *never) Read([]byte) (int, error) {
	select {
	case <-n.done:
		return 0, io.EOF
	case <-time.After(20 * time.Second):
		return 0, errors.New("it waits for ever")
	}
}

// TestMemoryLimitIsCheckedBeforeReservation has no memory for a check, as if another client kept the webhook busy.
func TestMemoryLimitIsCheckedBeforeReservation(t *testing.T) {
	h := newHandler(&Handler{
		Check: compile,
		Refuse: func(tc *v1.TemplateController) []finding.Finding {
			if n := len(tc.Spec.Helpers); n > 1 {
				return []finding.Finding{{Code: finding.TooMuch, Severity: finding.Error, Where: "spec", Message: fmt.Sprintf("%d is too much", n)}}
			}
			return nil
		},
		Reserve: func(ctx context.Context) (func(), error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	h.limit = 50 * time.Millisecond
	with := func(spec, metadata string) string {
		return strings.NewReplacer("spec:\n", "spec:\n  "+spec+"\n", "{name: apps}", "{name: apps"+metadata+"}").Replace(fine)
	}
	const deleted = ", deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [example.org/mine]"
	const refused, unchecked = "no: spec: 2 is too much [" + string(finding.TooMuch) + "]", "yes\n" + unchecked
	for why, row := range map[string]struct{ before, after, want string }{
		"a new one":                      {"", with("helpers: aa", ""), refused},
		"growing":                        {with("helpers: a", ""), with("helpers: aa", ""), refused},
		"growing while being deleted":    {with("helpers: a", deleted), with("helpers: aa", deleted), refused},
		"too large before":               {with("helpers: aa", ""), with("helpers: bb", ""), unchecked},
		"finalizer removed":              {with("helpers: aa", deleted), with("helpers: aa", deleted[:strings.Index(deleted, ", finalizers")]), "yes"},
		"changed while being deleted":    {with("helpers: a", deleted), with("helpers: b", deleted), "yes"},
		"small":                          {"", with("helpers: a", ""), unchecked},
		"another installation serves it": {"", with("helpers: aa\n  className: other", ""), "yes"},
	} {
		t.Run(why, func(t *testing.T) {
			if diff := cmp.Diff(row.want, outcomeOf(ask(t, h, row.before, row.after))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
