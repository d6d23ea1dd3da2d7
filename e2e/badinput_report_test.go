package e2e

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// report lists all problems of the row's TemplateControllers and parents, one per line, with the names of the scope
// replaced as in the manifests. It is "" if there are none. It includes Events if events is true.
//
//	TemplateController @id: Accepted=False InvalidTemplate: …
//	Widget one: Ready=False TemplateError: …
//	Widget one: Event Warning TemplateError: …
//
// It omits Ready if it repeats another condition, and conditions that are Unknown because the spec is not accepted. For
// an Event that repeats the condition before it, it appends "and Event".
func (r *row) report(events bool) string {
	r.t.Helper()
	var lines []string
	for _, tc := range r.mine(controllers) {
		lines = append(lines, r.controllerLines(&tc)...)
	}
	said := map[string][]string{}
	if events {
		said = r.events()
	}
	for _, parent := range r.parents() {
		name := nameOf(&parent)
		var texts []string
		if text := r.readyLine(&parent); text != "" {
			texts = append(texts, text)
		}
		for _, event := range said[name] {
			if i := slices.Index(texts, "Ready=False "+event); i >= 0 {
				texts[i] = "Ready=False and Event " + event
				continue
			}
			texts = append(texts, "Event "+event)
		}
		delete(said, name)
		for _, text := range texts {
			lines = append(lines, name+": "+text)
		}
	}
	for name, texts := range said { // regarding objects that are not parents
		for _, text := range texts {
			lines = append(lines, name+": Event "+text)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.NewReplacer(r.group, "@group", r.id, "@id").Replace(strings.Join(lines, "\n") + "\n")
}

func nameOf(o *unstructured.Unstructured) string { return o.GetKind() + " " + o.GetName() }

func (r *row) controllerLines(tc *unstructured.Unstructured) []string {
	conditions := conditionsOf(tc)
	if len(conditions) == 0 || stale(tc, conditions) {
		return []string{nameOf(tc) + ": not reconciled"}
	}
	var lines []string
	for _, c := range conditions {
		// ParentsReady repeats the status of the parents after some seconds.
		if c.Status == metav1.ConditionTrue || c.Type == "Ready" || c.Type == "ParentsReady" || c.Reason == "NotAccepted" {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: %s=%s %s: %s", nameOf(tc), c.Type, c.Status, c.Reason, c.Message))
	}
	ready := slices.IndexFunc(conditions, func(c metav1.Condition) bool { return c.Type == "Ready" })
	same := func(c metav1.Condition) bool {
		return c.Type != "Ready" && c.Status == conditions[ready].Status && c.Reason == conditions[ready].Reason && c.Message == conditions[ready].Message
	}
	if c := conditions[ready]; c.Status != metav1.ConditionTrue && !slices.ContainsFunc(conditions, same) {
		lines = append(lines, fmt.Sprintf("%s: Ready=%s %s: %s", nameOf(tc), c.Status, c.Reason, c.Message))
	}
	return lines
}

// readyLine describes the parent's ready conditions, unless all are True. They are not expected if the parent's schema
// has none.
func (r *row) readyLine(parent *unstructured.Unstructured) string {
	var texts []string
	conditions := conditionsOf(parent)
	for _, c := range conditions {
		if strings.HasPrefix(c.Type, "Ready") && c.Status != metav1.ConditionTrue {
			texts = append(texts, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
		}
	}
	_, holds := conditionKinds[parent.GetKind()]
	switch {
	case stale(parent, conditions):
		return "not reconciled"
	case len(conditions) == 0 && holds:
		return "no condition"
	}
	return strings.Join(texts, "; ")
}

// conditionKinds are the kinds of kinds.yaml that support the ready condition.
var conditionKinds = map[string]bool{"Widget": true, "Gadget": true}

func stale(o *unstructured.Unstructured, conditions []metav1.Condition) bool {
	return slices.ContainsFunc(conditions, func(c metav1.Condition) bool {
		return c.ObservedGeneration != 0 && c.ObservedGeneration != o.GetGeneration()
	})
}

func conditionsOf(o *unstructured.Unstructured) []metav1.Condition {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	var out []metav1.Condition
	for _, item := range list {
		m, _ := item.(map[string]any)
		text := func(key string) string { s, _ := m[key].(string); return s }
		generation, _ := m["observedGeneration"].(int64)
		out = append(out, metav1.Condition{
			Type: text("type"), Status: metav1.ConditionStatus(text("status")), Reason: text("reason"),
			Message: text("message"), ObservedGeneration: generation,
		})
	}
	return out
}

// parents returns the objects of the kinds that the row's TemplateControllers watch.
func (r *row) parents() []unstructured.Unstructured {
	r.t.Helper()
	var out []unstructured.Unstructured
	seen := map[types.UID]bool{}
	for _, tc := range r.mine(controllers) {
		version, _, _ := unstructured.NestedString(tc.Object, "spec", "watch", "apiVersion")
		kind, _, _ := unstructured.NestedString(tc.Object, "spec", "watch", "kind")
		gvk := schema.FromAPIVersionAndKind(version, kind)
		mapping, err := env.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			env.mapper.Reset() // it may be served by now
			continue
		}
		for _, o := range r.mine(mapping.Resource) {
			if (gvk.Group != "" || o.GetLabels()["a"] == "b") && !seen[o.GetUID()] {
				seen[o.GetUID()] = true
				out = append(out, o)
			}
		}
	}
	return out
}

// mine returns the objects in the row's namespace, and those whose name begins with the row's ID.
func (r *row) mine(resource schema.GroupVersionResource) []unstructured.Unstructured {
	r.t.Helper()
	list, err := env.client.Resource(resource).List(r.t.Context(), metav1.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(o unstructured.Unstructured) bool {
		return o.GetNamespace() != r.ns && (o.GetNamespace() != "" || !strings.HasPrefix(o.GetName(), r.id))
	})
}

// events returns templater's Warning Events by regarding object, oldest first.
func (r *row) events() map[string][]string {
	r.t.Helper()
	list, err := env.clientset.CoreV1().Events("").List(r.t.Context(), metav1.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	out := map[string][]string{}
	for _, e := range list.Items {
		about := e.InvolvedObject
		if e.ReportingController != "templater" || about.Namespace != r.ns && !strings.HasPrefix(about.Name, r.id) {
			continue
		}
		text := e.Reason + ": " + e.Message
		if e.Type != corev1.EventTypeWarning {
			text = e.Type + " " + text
		}
		if e.Series != nil {
			text += fmt.Sprintf(" (%d times)", e.Series.Count)
		}
		name := about.Kind + " " + about.Name
		out[name] = append(out[name], text)
	}
	return out
}

func groupKind(m map[string]any) schema.GroupKind {
	group, _ := m["group"].(string)
	kind, _ := m["kind"].(string)
	return schema.GroupKind{Group: group, Kind: kind}
}
