// Package crds creates and updates the CustomResourceDefinitions of TemplateControllers with spec.crd. It never deletes one.
package crds

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/crd"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Retry intervals after a refusal. A breaking change is checked less often, because that lists all stored objects. A missing permission is
// retried earlier at first, because RBAC is often applied together with the TemplateController.
const (
	RetryForbidden = time.Second // doubles up to RetryRefused
	RetryRefused   = problem.SlowRetry
	RetryBreaking  = 5 * time.Minute
)

// Writer writes CustomResourceDefinitions. It is safe for concurrent use for different TemplateControllers.
type Writer struct {
	// Cluster returns the client that impersonates a user; "" is the operator itself.
	Cluster func(as string) controller.Client
	// Definitions returns the CustomResourceDefinitions of a kind from the cache.
	Definitions func(gk schema.GroupKind) []*object.Object
	// Again syncs a TemplateController after a delay.
	Again func(name string, after time.Duration)
}

// State is the result of the last Sync of a TemplateController; the zero value is that of a new one.
type State struct {
	// Condition is the CRDReady condition; nil = there is no spec.crd.
	Condition *metav1.Condition
	// Generation is the metadata.generation that Condition is for.
	Generation int64

	seen      string    // what Condition depends on
	till      time.Time // when to check again although nothing has changed; zero = never
	forbidden int       // consecutive Forbidden results for the same input
}

// Sync makes the CustomResourceDefinition match spec.crd, as a user. It sends no request if nothing has changed since the last Sync. The
// caller must retry on an error.
func (w *Writer) Sync(ctx context.Context, tc *v1.TemplateController, as string, state *State, now time.Time) error {
	if tc.Spec.CRD == nil {
		*state = State{Generation: tc.Generation}
		return nil
	}
	state.Generation = tc.Generation
	seen := w.look(tc)
	if seen == state.seen && (state.till.IsZero() || now.Before(state.till)) {
		if !state.till.IsZero() {
			w.Again(tc.Name, state.till.Sub(now))
		}
		return nil
	}
	s := &sync{Writer: w, tc: tc, as: as}
	result, retry, err := s.run(ctx)
	if err != nil {
		state.seen = ""
		state.Condition = no(v1.ReasonNotEstablished, "the CustomResourceDefinition cannot be read or written: %s", problem.PublicReason(err))
		state.Condition.Type = v1.ConditionCRDReady
		return fmt.Errorf("CustomResourceDefinition of TemplateController %s: %w", tc.Name, err)
	}
	result.Type = v1.ConditionCRDReady
	switch {
	case result.Reason != v1.ReasonForbidden || seen != state.seen:
		state.forbidden = 0
	case state.forbidden < 10:
		state.forbidden++
	}
	if result.Reason == v1.ReasonForbidden {
		retry = min(RetryForbidden<<state.forbidden, RetryRefused)
	}
	state.Condition, state.seen, state.till = result, seen, time.Time{}
	if retry > 0 {
		state.till = now.Add(retry)
		w.Again(tc.Name, retry)
	}
	return nil
}

// look returns what Sync depends on.
func (w *Writer) look(tc *v1.TemplateController) string {
	seen := []string{fmt.Sprint(tc.Generation)}
	for _, o := range w.Definitions(parents(tc)) {
		seen = append(seen, string(o.UID())+"/"+o.ResourceVersion())
	}
	slices.Sort(seen[1:])
	return strings.Join(seen, " ")
}

func parents(tc *v1.TemplateController) schema.GroupKind {
	return schema.FromAPIVersionAndKind(tc.Spec.Watch.APIVersion, tc.Spec.Watch.Kind).GroupKind()
}

// sync is one run of Sync.
type sync struct {
	*Writer

	tc   *v1.TemplateController
	as   string
	want *apiextensionsv1.CustomResourceDefinition
}

// no returns a condition that is False.
func no(reason, format string, args ...any) *metav1.Condition {
	return &metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// run returns the condition, and when to check again; 0 = when something changes.
func (s *sync) run(ctx context.Context) (result *metav1.Condition, retry time.Duration, err error) {
	want, errs := crd.Of(s.tc.Name, &s.tc.Spec) //nolint:contextcheck // it computes for milliseconds
	if len(errs) > 0 {
		return no(v1.ReasonInvalidCRD, "%s", problem.Line(errs[0].Error())), 0, nil
	}
	s.want = want
	for _, o := range s.Definitions(parents(s.tc)) {
		if o.Name() != want.Name {
			return s.otherName(o), 0, nil
		}
	}
	found, err := s.Cluster("").Get(ctx, s.at())
	switch {
	case request.MissingObject(err):
		return s.create(ctx)
	case err != nil:
		return nil, 0, err
	}
	live, err := decode(found)
	if err != nil {
		return nil, 0, err
	}
	return s.update(ctx, live)
}

func decode(o *object.Object) (*apiextensionsv1.CustomResourceDefinition, error) {
	out := &apiextensionsv1.CustomResourceDefinition{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Content(), out)
	out.ResourceVersion = o.ResourceVersion() // Content lacks it
	return out, err
}

func (s *sync) at() request.Location {
	return request.Location{Resource: crd.Resource, Name: s.want.Name}
}

// otherName reports a CustomResourceDefinition of the kind with another name.
func (s *sync) otherName(o *object.Object) *metav1.Condition {
	if o.Get(v1.LabelController) == s.tc.Name {
		return no(v1.ReasonBreakingChange, "the plural of kind %s is part of the name of CustomResourceDefinition %s and cannot be changed: restore spec.crd.names.plural", s.tc.Spec.Watch.Kind, o.Name())
	}
	return no(v1.ReasonCRDNotOwned, "CustomResourceDefinition %s already defines kind %s: remove spec.crd, or set spec.crd.names.plural to its plural", o.Name(), s.tc.Spec.Watch.Kind)
}

func (s *sync) create(ctx context.Context) (*metav1.Condition, time.Duration, error) {
	if s.tc.Spec.Suspend {
		return no(v1.ReasonSuspended, "spec.suspend is true: CustomResourceDefinition %s is not created", s.want.Name), 0, nil
	}
	content := crd.Manifest(s.want)
	content["metadata"].(map[string]any)["resourceVersion"] = "1" //nolint:forcetypeassert // it has a name. So that Apply only creates
	return s.written(s.Cluster(s.as).Apply(ctx, s.at(), object.Append(nil, content), s.manager()))
}

// update makes an existing CustomResourceDefinition match.
func (s *sync) update(ctx context.Context, live *apiextensionsv1.CustomResourceDefinition) (*metav1.Condition, time.Duration, error) {
	name, owner := live.Name, live.Labels[v1.LabelController]
	switch {
	case live.DeletionTimestamp != nil:
		return no(v1.ReasonCRDTerminating, "CustomResourceDefinition %s is being deleted: templater recreates it once it is gone", name), RetryRefused, nil
	case live.Spec.Group != s.want.Spec.Group || live.Spec.Names.Kind != s.want.Spec.Names.Kind:
		return no(v1.ReasonCRDNotOwned, "CustomResourceDefinition %s defines kind %s: set spec.crd.names.plural to another name", name, problem.PublicKind(live.Spec.Names.Kind)), RetryRefused, nil
	case owner != s.tc.Name && live.Annotations[v1.AnnotationAdopt] != s.tc.Name:
		by := "was not created by templater"
		if owner != "" {
			by = "belongs to " + problem.PublicController(owner)
		}
		return no(v1.ReasonCRDNotOwned, "CustomResourceDefinition %s %s: remove spec.crd, or let this TemplateController take it over: kubectl annotate crd %s %s=%s", name, by, name, v1.AnnotationAdopt, s.tc.Name), RetryRefused, nil
	}
	if refused := s.fixed(live); refused != nil {
		return refused, RetryRefused, nil
	}
	if owner == s.tc.Name && s.matches(live) {
		return served(live), 0, nil
	}
	if s.tc.Spec.Suspend {
		return no(v1.ReasonSuspended, "spec.suspend is true: changes to spec.crd are not applied to CustomResourceDefinition %s", name), 0, nil
	}
	switch refused, err := s.compare(ctx, live); {
	case refused != nil && refused.Reason == v1.ReasonForbidden:
		return refused, RetryRefused, nil
	case refused != nil || err != nil:
		return refused, RetryBreaking, err
	}
	return s.replace(ctx, live)
}

// matches returns whether a CustomResourceDefinition has the desired spec.
func (s *sync) matches(live *apiextensionsv1.CustomResourceDefinition) bool {
	return reflect.DeepEqual(crd.Plain(live.Spec), crd.Plain(s.want.Spec))
}

// served returns the condition of a CustomResourceDefinition that matches.
func served(live *apiextensionsv1.CustomResourceDefinition) *metav1.Condition {
	for _, c := range live.Status.Conditions {
		if c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse {
			return no(v1.ReasonNamesNotAccepted, "the API server does not accept the names of CustomResourceDefinition %s: %s: change spec.crd.names", live.Name, problem.Line(c.Message))
		}
	}
	for _, c := range live.Status.Conditions {
		if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
			return &metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonEstablished, Message: "CustomResourceDefinition " + live.Name + " is established"}
		}
	}
	return no(v1.ReasonNotEstablished, "the API server has not established CustomResourceDefinition %s yet", live.Name)
}

// fixed reports a change of what cannot be changed.
func (s *sync) fixed(live *apiextensionsv1.CustomResourceDefinition) *metav1.Condition {
	var versions []string
	for _, v := range live.Spec.Versions {
		versions = append(versions, v.Name)
	}
	switch want := s.want.Spec; {
	case live.Spec.Scope != want.Scope:
		return no(v1.ReasonBreakingChange, "the scope of kind %s is %s and cannot be changed: restore spec.crd.scope", want.Names.Kind, live.Spec.Scope)
	case !slices.Equal(versions, []string{want.Versions[0].Name}):
		return no(v1.ReasonBreakingChange, "CustomResourceDefinition %s has version %s, but spec.crd supports only the version in spec.watch.apiVersion, %s: restore spec.watch.apiVersion, or remove spec.crd and maintain the CustomResourceDefinition in a file",
			live.Name, strings.Join(versions, " and "), want.Versions[0].Name)
	}
	return nil
}

// compare checks the stored objects against a new schema. It returns why the change is refused; nil = it is compatible, or permitted.
func (s *sync) compare(ctx context.Context, live *apiextensionsv1.CustomResourceDefinition) (*metav1.Condition, error) {
	comparison, err := crd.Compare(live, s.want)
	if err != nil {
		return no(v1.ReasonInvalidCRD, "%s", problem.Line(err.Error())), nil
	}
	if comparison == nil {
		return nil, nil
	}
	resource := schema.GroupVersionResource{Group: live.Spec.Group, Version: live.Spec.Versions[0].Name, Resource: live.Spec.Names.Plural}
	var inherit []types.NamespacedName
	err = s.Cluster(s.as).Each(ctx, resource, "", func(o *object.Object) { //nolint:contextcheck // Add computes for less than a millisecond
		content := o.Content()
		comparison.Add(strings.TrimPrefix(o.Key().String(), "/"), content)
		if comparison.LosesDefaults(content) {
			inherit = append(inherit, o.Key())
		}
	})
	if request.MissingObject(err) && served(live).Status != metav1.ConditionTrue {
		err = nil // without a resource, there are no objects
	}
	if permissions.Denied(err) {
		return no(v1.ReasonForbidden, "the new schema is not applied, because %s is not allowed to list all %s, and stored objects could become invalid: grant {apiGroups: [%s], resources: [%s], verbs: [list]} in all namespaces", user(s.as), resource.Resource, resource.Group, resource.Resource), nil
	}
	if err != nil {
		return nil, err
	}
	objects, reasons, unchecked := comparison.Broken()
	hash := crd.Hash(s.want)
	var why []string
	if objects > 0 {
		why = append(why, fmt.Sprintf("it breaks %s: %s", problem.Count(objects, "stored object", "stored objects"), problem.Join(reasons)))
	}
	if unchecked > 0 {
		why = append(why, fmt.Sprintf("%s not validated: too many values, or too expensive CEL rules", problem.Count(unchecked, "stored object was", "stored objects were")))
	}
	if len(why) == 0 || s.tc.Spec.CRD.AllowBreaking == hash {
		return s.storeDefaults(ctx, resource, inherit)
	}
	return no(v1.ReasonBreakingChange, "the new schema is not applied: %s; to apply it anyway, set spec.crd.allowBreaking: %q", strings.Join(why, "; "), hash), nil
}

// storeDefaults makes the API server store the defaults of the current schema in these objects, so that a new schema with other defaults does
// not change them. It applies an empty status, which changes nothing else.
func (s *sync) storeDefaults(ctx context.Context, resource schema.GroupVersionResource, objects []types.NamespacedName) (*metav1.Condition, error) {
	for _, o := range objects {
		metadata := map[string]any{"name": o.Name}
		if o.Namespace != "" {
			metadata["namespace"] = o.Namespace
		}
		body := object.Append(nil, map[string]any{"apiVersion": s.tc.Spec.Watch.APIVersion, "kind": s.tc.Spec.Watch.Kind, "metadata": metadata})
		_, err := s.Cluster(s.as).ApplyStatus(ctx, request.Location{Resource: resource, Namespace: o.Namespace, Name: o.Name}, body, "templater-crd", false)
		switch {
		case permissions.Denied(err):
			return no(v1.ReasonForbidden, "the new schema is not applied, because it changes defaults, and %s is not allowed to store the previous ones in existing objects: grant {apiGroups: [%s], resources: [%s/status], verbs: [patch]} in all namespaces", user(s.as), resource.Group, resource.Resource), nil
		case err != nil && !request.MissingObject(err):
			return nil, err
		}
	}
	return nil, nil
}

func (s *sync) manager() string { return v1.FieldManager(s.tc.Key()) }

// replace replaces the spec of a CustomResourceDefinition, including fields of other managers.
func (s *sync) replace(ctx context.Context, live *apiextensionsv1.CustomResourceDefinition) (*metav1.Condition, time.Duration, error) {
	content := crd.Manifest(s.want)
	content["spec"] = replacement(crd.Plain(live.Spec), content["spec"])
	maps.Copy(content["metadata"].(map[string]any), map[string]any{"uid": string(live.UID), "resourceVersion": live.ResourceVersion}) //nolint:forcetypeassert // it has a name
	return s.written(s.Cluster(s.as).Merge(ctx, s.at(), content, s.manager()))
}

// replacement returns the merge patch that turns one value into another.
func replacement(from, to any) any {
	before, isMap := from.(map[string]any)
	after, becomesMap := to.(map[string]any)
	if !isMap || !becomesMap {
		return to
	}
	patch := maps.Clone(after)
	for name, value := range before {
		patch[name] = nil
		if _, kept := after[name]; kept {
			patch[name] = replacement(value, after[name])
		}
	}
	return patch
}

// written returns the condition after a write.
func (s *sync) written(after *object.Object, err error) (*metav1.Condition, time.Duration, error) {
	switch {
	case permissions.Denied(err):
		return no(v1.ReasonForbidden, "%s is not allowed to create or update CustomResourceDefinitions: grant {apiGroups: [%s], resources: [%s], verbs: [%s]}", user(s.as), crd.Resource.Group, crd.Resource.Resource, strings.Join(permissions.CRDs.Verbs(), ", ")), RetryRefused, nil
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return no(v1.ReasonInvalidCRD, "the API server rejects CustomResourceDefinition %s: %s", s.want.Name, problem.Line(err.Error())), RetryBreaking, nil // it contains nothing but the spec
	case err != nil:
		return nil, 0, err
	}
	live, err := decode(after)
	if err == nil && !s.matches(live) {
		return no(v1.ReasonInvalidCRD, "CustomResourceDefinition %s differs from spec.crd after the write: a mutating admission webhook or policy has probably changed it; exclude CustomResourceDefinitions from it, or set the same values in spec.crd", live.Name), RetryBreaking, nil
	}
	return served(live), 0, err
}

// user names a user in a message.
func user(as string) string {
	if as == "" {
		return "templater"
	}
	return problem.Line(as)
}
