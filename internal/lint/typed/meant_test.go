package typed

import (
	"testing"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/render/finding"
)

func TestKindSuggestions(t *testing.T) {
	for of, want := range map[[2]string]string{
		{"v1", "Configmap"}:                                "; did you mean ConfigMap?",
		{"v1", "Deployment"}:                               "; did you mean apiVersion apps/v1?",
		{"apps/v1", "Service"}:                             "; did you mean apiVersion v1?",
		{"networking.k8s.io/v1beta1", "NetworkPolicy"}:     "; did you mean apiVersion networking.k8s.io/v1?",
		{"autoscaling/v2beta2", "HorizontalPodAutoscaler"}: "; did you mean apiVersion autoscaling/v1?",
		{"v1", "Unicorn"}:                                  "",
	} {
		var got []string
		for _, f := range checked(t, given{child: "apiVersion: " + of[0] + "\nkind: " + of[1] + "\nmetadata: {name: a}"}, openapi.BuiltIn()) {
			if f.Code == finding.UnknownKind {
				got = append(got, f.Message)
			}
		}
		if want := "unknown kind " + of[1] + " in " + of[0] + want; len(got) != 1 || got[0] != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
