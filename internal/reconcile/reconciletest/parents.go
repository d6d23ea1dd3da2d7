package reconciletest

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
)

// App is a parent of Apps with the children a and b.
var App = NewApp()

type appFields struct {
	name, tier, text, space string
	children                []string
}

// AppOption sets a field of an App.
type AppOption func(*appFields)

// WithName sets metadata.name.
func WithName(name string) AppOption { return func(a *appFields) { a.name = name } }

// WithTier sets the label tier, which WatchFront selects.
func WithTier(tier string) AppOption { return func(a *appFields) { a.tier = tier } }

// WithChildren sets spec.names: Apps creates a child for each name.
func WithChildren(names ...string) AppOption { return func(a *appFields) { a.children = names } }

// WithText sets spec.text, which Apps copies into each child.
func WithText(text string) AppOption { return func(a *appFields) { a.text = text } }

// WithSpace sets spec.space: Tenants creates ConfigMaps in that namespace.
func WithSpace(namespace string) AppOption { return func(a *appFields) { a.space = namespace } }

// NewApp returns App with other fields.
func NewApp(options ...AppOption) string {
	a := appFields{name: "one", tier: "front", text: "hello", children: []string{"a", "b"}}
	for _, set := range options {
		set(&a)
	}
	return fmt.Sprintf(`
apiVersion: example.org/v1
kind: App
metadata: {namespace: ns, name: %s, labels: {tier: %s}}
spec: {names: [%s], text: %s}
`, a.name, a.tier, strings.Join(a.children, ", "), a.text)
}

// Tenant is a parent of Tenants with the ClusterRole r and, in namespace far, the ConfigMap a.
var Tenant = NewTenant()

// NewTenant returns Tenant with other fields.
func NewTenant(options ...AppOption) string {
	a := appFields{name: "one", tier: "front", text: "hello", space: "far", children: []string{"a"}}
	for _, set := range options {
		set(&a)
	}
	return fmt.Sprintf(`
apiVersion: example.org/v1
kind: App
metadata: {namespace: ns, name: %s, labels: {tier: %s}}
spec: {names: [%s], space: %s, role: r, text: %s}
`, a.name, a.tier, strings.Join(a.children, ", "), a.space, a.text)
}

// ManagedApp is App with the fields that ManagedOnly reads.
const ManagedApp = "{apiVersion: example.org/v1, kind: App, metadata: {namespace: ns, name: one, annotations: {example.org/managed: 'yes'}}, spec: {names: [a, b], text: hello, mode: 1}}"

// ShopApp is a parent of Shop.
const ShopApp = "{apiVersion: example.org/v1, kind: App, metadata: {namespace: ns, name: one}, spec: {text: hello, db: one}}"

// Reader returns a parent of Readers with that spec.
func Reader(namespace, name, spec string) string {
	return fmt.Sprintf("{apiVersion: example.org/v1, kind: App, metadata: {namespace: %s, name: %s}, spec: %s}", namespace, name, spec)
}

// Job returns a Job with these labels and that spec.
func Job(namespace, name, labels, spec string) string {
	return fmt.Sprintf("{apiVersion: batch/v1, kind: Job, metadata: {namespace: %s, name: %s, labels: %s}, spec: %s}", namespace, name, labels, spec)
}

// AppWith returns a parent of Apps with that many children.
func AppWith(name types.NamespacedName, children int) *unstructured.Unstructured {
	names := make([]any, 0, children)
	for i := range children {
		names = append(names, fmt.Sprint("child-", i))
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.org/v1", "kind": "App", "spec": map[string]any{"names": names, "text": "x"},
	}}
	o.SetNamespace(name.Namespace)
	o.SetName(name.Name)
	o.SetUID(types.UID("uid-" + name.Namespace))
	return o
}

// LogsStatus returns the status that Reporters writes: the logs of container main, by Pod.
func LogsStatus(texts map[string]any) map[string]any {
	out := map[string]any{}
	for pod, text := range texts {
		logs := map[string]any{}
		if text != nil {
			logs["main"] = text
		}
		out[pod] = map[string]any{"logs": logs}
	}
	return out
}

// OddText contains characters that YAML interprets or rejects unless they are escaped.
const OddText = "a\u0085b: c\u2028\u2029 d \x7f\u0080\ufffe\ufeff\r\n\x00 \U0001f600\U0001ffff"

// NotAccepted is the reason and message of a parent whose TemplateController is not accepted.
const NotAccepted = "TemplateControllerNotAccepted: TemplateController apps is not accepted, so this object is not reconciled: see its Accepted condition"

// CleanupSince is the annotation with the time since which the cleanup of a parent has been attempted. CleanupTimeout
// is the timeout that tests use.
const (
	CleanupSince   = v1.AnnotationCleanupSincePrefix + "apps"
	CleanupTimeout = 5 * time.Minute
)
