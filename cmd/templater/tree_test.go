package main

import "testing"

// TestTreeResolvesKindArguments checks that KIND is matched as in kubectl.
func TestTreeResolvesKindArguments(t *testing.T) {
	policy := map[string]any{"apiVersion": "example.org/v1", "kind": "Policy", "metadata": map[string]any{"name": "a"}}
	for word, want := range map[string]bool{
		"policy": true, "Policy": true, "policies": true, "policys": false, "policy.example.org": true, "policies.v1.example.org": true,
		"policy.other.org": false, "policy.v2.example.org": false,
	} {
		if got := (&treeFlags{}).matches(policy, word, "a"); got != want {
			t.Errorf("%s: got %t, want %t", word, got, want)
		}
	}
}
