package kube

import (
	"context"
	"regexp"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// WithoutWarnings returns a config whose clients do not log what the server warns of: its text may quote values of
// objects. That a version is deprecated is logged, once for each; other warnings are counted.
func WithoutWarnings(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.WarningHandler, config.WarningHandlerWithContext = nil, &warnings{}
	return config
}

// deprecated is how the server warns of a version of a kind: it holds names of kinds and versions alone.
var deprecated = regexp.MustCompile(`^` + version + ` is deprecated(?: in v[0-9.]{1,9}\+)?(?:, unavailable in v[0-9.]{1,9}\+)?(?:; use ` + version + `)?$`)

const version = `(?:[-a-z0-9.]{1,100}/)?v[0-9]{1,3}(?:(?:alpha|beta)[0-9]{1,3})? [A-Za-z]{1,63}`

// mostDeprecations is how many of them are told: there are not so many.
const mostDeprecations = 100

// warnings is a rest.WarningHandlerWithContext.
type warnings struct {
	others atomic.Int64

	mu   sync.Mutex
	told map[string]bool
}

// HandleWarningHeaderWithContext takes one warning; 299 is the code that Kubernetes gives them.
func (w *warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	switch {
	case code != 299 || text == "":
	case !deprecated.MatchString(text):
		if n := w.others.Add(1); powerOfTen(n) {
			klog.FromContext(ctx).Info("the API server returned a warning, which may contain values: kubectl apply shows it", "soFar", n)
		}
	case w.first(text):
		klog.FromContext(ctx).Info("the API server returned a warning", "that", text)
	}
}

// first reports whether the text is a new one.
func (w *warnings) first(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.told[text] || len(w.told) >= mostDeprecations {
		return false
	}
	if w.told == nil {
		w.told = map[string]bool{}
	}
	w.told[text] = true
	return true
}

func powerOfTen(n int64) bool {
	for n%10 == 0 {
		n /= 10
	}
	return n == 1
}
