package problem

import (
	"testing"

	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return content
}

func TestQuantityPathOmitsKeysFromData(t *testing.T) {
	author := authorOf(t, "spec:\n  limits: {{ .spec.map }}\n")
	problem := &Problem{Message: "cannot update X: " + badQuantity}
	problem.NameQuantity(map[string]any{"spec": map[string]any{"limits": map[string]any{secret: "lots"}}}, author)
	if want := "cannot update X: .spec.limits.…: " + badQuantity; problem.Message != want {
		t.Errorf("got %q, want %q", problem.Message, want)
	}
}

func TestInvalidQuantityIsFound(t *testing.T) {
	for text, want := range map[string]string{
		"{kind: Pod, apiVersion: v1, spec: {containers: [{resources: {limits: {cpu: 250m, memory: 1}}}, {resources: {requests: {cpu: 1, memory: " + secret + "}}}]}}": ".spec.containers[1].resources.requests.memory",
		"{kind: Pod, apiVersion: v1, spec: {volumes: [{emptyDir: {sizeLimit: lots}}]}}":                                                                               ".spec.volumes[0].emptyDir.sizeLimit",
		"{kind: Pod, apiVersion: v1, spec: {containers: [{resources: {limits: {cpu: 250m}}}]}}":                                                                       "",
	} {
		if got := quantityFault(parse(t, text), ""); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestNameQuantityLeavesOtherFaultsUnchanged(t *testing.T) {
	for message, content := range map[string]string{
		"cannot update X: too busy":       "{spec: {limits: lots}}", // not an error about quantities
		"cannot update X: " + badQuantity: "{spec: {limits: 1}}",
	} {
		problem := &Problem{Message: message}
		if problem.NameQuantity(parse(t, content), authorOf(t, "spec: {limits: lots}")); problem.Message != message {
			t.Errorf("got %q, want %q", problem.Message, message)
		}
	}
}
