package kube

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTransientErrorsByStatusCode(t *testing.T) {
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

func TestOnlyNonEmptyWarningsWithCode299Count(t *testing.T) {
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
