package kube

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAnswersThatMayBeOthersLater(t *testing.T) {
	for code, want := range map[int32]bool{0: true, 403: false, 404: false, 428: false, 429: true, 430: false, 499: false, 500: true, 503: true} {
		err := errors.New("no answer")
		if code != 0 {
			err = &apierrors.StatusError{ErrStatus: metav1.Status{Code: code}}
		}
		if got := transient(err); got != want {
			t.Errorf("%d: %v, want %v", code, got, want)
		}
	}
}

func TestWarningsThatCount(t *testing.T) {
	w := &warnings{}
	w.HandleWarningHeaderWithContext(t.Context(), 199, "", "text")
	w.HandleWarningHeaderWithContext(t.Context(), 299, "", "")
	if n := w.others.Load(); n != 0 {
		t.Errorf("%d warnings, want none", n)
	}
	w.HandleWarningHeaderWithContext(t.Context(), 299, "", "text")
	if n := w.others.Load(); n != 1 {
		t.Errorf("%d warnings, want 1", n)
	}
}

func TestKindsOfAnotherGroupAreNotThoseOfThisOne(t *testing.T) {
	group := &metav1.APIGroup{Name: "a", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "a/v1"}}}
	list := func(version string, kinds ...metav1.APIResource) []*metav1.APIResourceList {
		return []*metav1.APIResourceList{{GroupVersion: version, APIResources: kinds}}
	}
	for why, row := range map[string]struct {
		lists []*metav1.APIResourceList
		want  bool
	}{
		"a kind of the group":    {list("a/v1", metav1.APIResource{Kind: "A"}), true},
		"no kind of the group":   {list("a/v1"), false},
		"a kind of another one":  {list("b/v1", metav1.APIResource{Kind: "B"}), false},
		"no kind of another one": {list("b/v1"), false},
	} {
		if got := namesKinds(group, row.lists); got != row.want {
			t.Errorf("%s: %v, want %v", why, got, row.want)
		}
	}
}
