// Package simulate runs package reconcile for one parent without a cluster, against an API server in memory with the objects of a State.
//
// It needs no network, and the caller sets the time. It does not simulate permissions, admission webhooks, defaults of an API server, drift
// and terminating namespaces.
package simulate

import (
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Simulator reconciles parents of one TemplateController. It is safe for concurrent use.
type Simulator struct {
	// Explain enables Places of children.
	Explain bool
	// InNamespace is the namespace of parents without one; "" = that of a NamespacedTemplateController, or else "default".
	InNamespace string
	// Validates makes writes, and new states of the parent, fail that an API server would refuse because of the object.
	Validates bool

	name       string
	spec       *v1.TemplateControllerSpec
	compiled   *spec.Compiled
	kinds      kinds
	parents    kind.Kind
	schema     map[string]any // of the parents; nil = unknown
	mayHave    func(object map[string]any, path []string) bool
	seals      *seal.Ring
	validators *Validators
}

// New returns the Simulator of a TemplateController with a compiled spec. definitions are CustomResourceDefinitions; kinds that are
// neither defined there nor built in are assumed to be namespaced. known has the schemas of kinds; nil = none. The rejection is the reason why the
// operator would not accept it.
func New(tc *v1.TemplateController, compiled *spec.Compiled, definitions kind.Declared, known openapi.Set) (*Simulator, *spec.Rejection) {
	s := &Simulator{validators: NewValidators(definitions, known), mayHave: openapi.MayHave(known), name: tc.Key(), spec: &tc.Spec, compiled: compiled, kinds: kinds{declared: definitions, unserved: map[schema.GroupVersionKind]bool{}}, seals: &seal.Ring{}}
	s.parents, s.schema = s.kinds.find(compiled.GVK), s.kinds.declared.Schema(compiled.GVK)
	if r := spec.CheckKind(s.name, s.spec, s.parents); r != nil {
		return nil, r
	}
	keys, err := seal.Parse(map[string]any{"1": base64.StdEncoding.EncodeToString(make([]byte, 64))}, time.Time{})
	if err != nil {
		panic(err) // they are well-formed
	}
	s.seals.Set(keys)
	return s, nil
}

// Unserved declares that a cluster does not serve a kind, so that it is not guessed: templates that render it fail, and nothing is
// pruned. Call it before the first reconciliation.
func (s *Simulator) Unserved(gvk schema.GroupVersionKind) { s.kinds.unserved[gvk] = true }

// OfKind reports whether an object is of the watched kind, in any version.
func (s *Simulator) OfKind(content map[string]any) bool {
	return child.GVKOf(content).GroupKind() == s.compiled.GVK.GroupKind()
}

// namespace returns the namespace of a NamespacedTemplateController, or "".
func (s *Simulator) namespace() string {
	namespace, _ := v1.SplitKey(s.name)
	return namespace
}

// Matches returns why an object is not a parent of the TemplateController, or "".
func (s *Simulator) Matches(content map[string]any) string {
	if !s.OfKind(content) {
		return fmt.Sprintf("it is a %s, and %s watches %s", child.IDOf(content).Kind, v1.Describe(s.name), s.compiled.GVK.GroupKind())
	}
	if of := child.GVKOf(content); of.Version != s.compiled.GVK.Version { // only an API server can convert it
		return fmt.Sprintf("its version is %s, and %s watches %s: write it in that version", of.Version, v1.Describe(s.name), s.compiled.GVK.Version)
	}
	o, err := object.From(s.placed(content))
	if err != nil {
		return "it cannot be read: " + err.Error()
	}
	switch {
	case !s.listed(o.Namespace()) && s.namespace() != "":
		return "it is not in namespace " + s.namespace() + " of the NamespacedTemplateController"
	case !s.listed(o.Namespace()):
		return "its namespace is not in spec.watch.namespaces"
	case !s.compiled.Labels.Matches(o):
		return "its labels do not match spec.watch.labelSelector"
	case !fields.ParseSelectorOrDie(s.compiled.Fields).Matches(memserver.Fields(o.Content())): // the string of a valid selector
		return "its fields do not match spec.watch.fieldSelector"
	}
	if admits, err := s.compiled.Program.Matches(o.Content()); err != nil {
		return "spec.watch.filter cannot be evaluated: " + problem.FromTemplate(err).Message
	} else if !admits {
		return "spec.watch.filter is not true for it"
	}
	return ""
}

func (s *Simulator) listed(namespace string) bool {
	all := s.spec.Watch.Namespaces
	return len(all) == 0 || slices.Contains(all, namespace)
}

// factory returns the factory of children that the operator uses.
func (s *Simulator) factory(now clock.PassiveClock) *child.Factory {
	return &child.Factory{
		Ownership: &child.Ownership{
			Controller: s.name, Manager: v1.FieldManager(s.name), Parents: s.compiled.GVK.GroupKind(), APIVersion: s.spec.Watch.APIVersion, Seals: s.seals,
			Departed: &child.Departed{}, Entries: slices.Concat(s.spec.Children, spec.Finals(s.spec)), Levels: s.compiled.Order.Levels(),
		},
		Spec: s.spec, Program: s.compiled.Program, ParentKind: s.parents, Clock: now,
	}
}
