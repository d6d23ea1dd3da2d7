package kube

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

func TestServerWarningsAreNotQuoted(t *testing.T) {
	const old = "batch/v1beta1 CronJob is deprecated in v1.21+, unavailable in v1.25+; use batch/v1 CronJob"
	texts := []string{
		`spec.template.spec.containers[0].env[1]: hides previous definition of "the password 1234"`,
		"would violate PodSecurity: the password 1234", old, old, "the password 1234 is deprecated in v1.2+",
		"x/v1 Pass is deprecated in v1.2+; use the password 1234", "my-x.org/v1alpha1 Foo is deprecated", "apps/v1beta1 Scale is deprecated in v1.9+",
	}
	for range 6 {
		texts = append(texts, "the password 1234")
	}
	next := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Warning", fmt.Sprintf("299 - %q", texts[next]))
		next++
		_, _ = io.WriteString(w, answered)
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL, QPS: -1}
	client, err := NewClient(WithoutWarnings(config))
	if err != nil {
		t.Fatal(err)
	}
	var log []string
	ctx := klog.NewContext(t.Context(), funcr.New(func(_, args string) { log = append(log, args) }, funcr.Options{Verbosity: 4}))
	for range texts {
		if _, err := client.As("somebody").Get(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	const others = "the API server returned a warning, which may contain values: kubectl apply shows it"
	want := []string{
		fmt.Sprintf(`"level"=0 "msg"=%q "count"=1`, others),
		fmt.Sprintf(`"level"=0 "msg"="the API server returned a warning" "warning"=%q`, old),
		`"level"=0 "msg"="the API server returned a warning" "warning"="my-x.org/v1alpha1 Foo is deprecated"`,
		`"level"=0 "msg"="the API server returned a warning" "warning"="apps/v1beta1 Scale is deprecated in v1.9+"`,
		fmt.Sprintf(`"level"=0 "msg"=%q "count"=10`, others),
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if config.WarningHandlerWithContext != nil || strings.Contains(strings.Join(log, ""), "1234") {
		t.Error("the caller's config was changed, or a value was logged")
	}
}

func TestDeprecationsAreLoggedOnceUpToLimit(t *testing.T) {
	logged := 0
	ctx := klog.NewContext(t.Context(), funcr.New(func(string, string) { logged++ }, funcr.Options{}))
	w := &warnings{}
	w.HandleWarningHeaderWithContext(ctx, 199, "-", "something of a proxy")
	w.HandleWarningHeaderWithContext(ctx, 299, "-", "")
	if logged != 0 {
		t.Errorf("%d lines about no warnings of Kubernetes", logged)
	}
	for range 2 {
		for i := range 2 * maxDeprecations {
			w.HandleWarningHeaderWithContext(ctx, 299, "-", fmt.Sprintf("x%d/v1 A is deprecated", i))
		}
	}
	if logged != maxDeprecations {
		t.Errorf("%d lines, want %d", logged, maxDeprecations)
	}
}
