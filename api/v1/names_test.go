package v1

import "testing"

func TestKeysOfFieldManagers(t *testing.T) {
	for _, row := range []struct{ manager, namespace, key string }{
		{"templater/apps", "ns", "apps"},
		{"templater-ns/apps", "ns", "ns/apps"},
		{"templater-ns/apps", "", ""},    // of a cluster-scoped object
		{"templater/far/apps", "ns", ""}, // anyone can choose a field manager
		{"templater-ns/far/apps", "ns", ""},
		{"kubectl", "ns", ""},
		{"templater", "ns", ""},
	} {
		if got := KeyOfManager(row.manager, row.namespace); got != row.key {
			t.Errorf("%s in namespace %q: %q, want %q", row.manager, row.namespace, got, row.key)
		}
	}
	for key, want := range map[string][4]string{
		"apps":    {"templater/apps", "finalize.templater.dev/apps", "cleanup-since.templater.dev/apps", "TemplateController apps"},
		"ns/apps": {"templater-ns/apps", "finalize.templater.dev/ns.apps", "cleanup-since.templater.dev/ns.apps", "NamespacedTemplateController ns/apps"},
	} {
		if got := [4]string{FieldManager(key), ParentFinalizer(key), CleanupSince(key), Describe(key)}; got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
}
