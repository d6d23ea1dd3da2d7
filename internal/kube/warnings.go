package kube

import (
	"context"
	"regexp"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// WithoutWarnings returns a config whose clients do not log API warnings, because these may contain field values. Deprecation
// warnings are logged, each once; other warnings are only counted.
func WithoutWarnings(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.WarningHandler, config.WarningHandlerWithContext = nil, &warnings{}
	return config
}

// deprecated matches deprecation warnings for API versions. They contain only names of kinds and versions.
var deprecated = regexp.MustCompile(`^` + version + ` is deprecated(?: in v[0-9.]{1,9}\+)?(?:, unavailable in v[0-9.]{1,9}\+)?(?:; use ` + version + `)?$`)

const version = `(?:[-a-z0-9.]{1,100}/)?v[0-9]{1,3}(?:(?:alpha|beta)[0-9]{1,3})? [A-Za-z]{1,63}`

// maxDeprecations limits the number of logged deprecations. Kubernetes has fewer.
const maxDeprecations = 100

// warnings is a rest.WarningHandlerWithContext.
type warnings struct {
	others atomic.Int64

	mu     sync.Mutex
	logged map[string]bool
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext. Kubernetes uses code 299.
func (w *warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	switch {
	case code != 299 || text == "":
	case !deprecated.MatchString(text):
		if n := w.others.Add(1); powerOfTen(n) {
			klog.FromContext(ctx).Info("the API server returned a warning, which may contain values: kubectl apply shows it", "count", n)
		}
	case w.first(text):
		klog.FromContext(ctx).Info("the API server returned a warning", "warning", text)
	}
}

// first reports whether the text was not logged before, and the limit is not reached.
func (w *warnings) first(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.logged[text] || len(w.logged) >= maxDeprecations {
		return false
	}
	if w.logged == nil {
		w.logged = map[string]bool{}
	}
	w.logged[text] = true
	return true
}

func powerOfTen(n int64) bool {
	for n%10 == 0 {
		n /= 10
	}
	return n == 1
}
