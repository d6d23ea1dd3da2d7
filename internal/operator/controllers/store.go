package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// ownWriter is the field manager for TemplateControllers, and what marks own
// writes of them in their cache.
const ownWriter = "templater"

// errBehind means that a TemplateController has changed since it was read; the watch will
// deliver the change.
var errBehind = errors.New("the TemplateController was changed in the meantime")

// store reads TemplateControllers from the cache and from the API server, and writes them.
type store struct {
	*registry

	cache    *watch.Cache
	clusters func(as string) running.Client
	class    string      // of the TemplateControllers that are served
	accounts bool        // whether a TemplateController must name a service account
	standby  atomic.Bool // whether another replica leads
	led      atomic.Bool // whether the standby is over
}

// current reads a TemplateController from the server. The error is errBehind where it is another one than in the cache.
func (s *store) current(ctx context.Context, packed *object.Object) (*object.Object, error) {
	now, err := s.clusters("").Get(ctx, request.Location{Resource: v1.Resource, Name: packed.Name()})
	switch {
	case apierrors.IsNotFound(err) || err == nil && now.UID() != packed.UID():
		return nil, errBehind
	case err != nil:
		return nil, fmt.Errorf("read TemplateController %s: %w", packed.Name(), err)
	}
	return now, nil
}

// whole returns the spec of a cached TemplateController. If the cache has its outline, it reads the spec from the API server. It returns
// errBehind if the server has another generation.
func (s *store) whole(ctx context.Context, packed *object.Object, tc *v1.TemplateController) (*v1.TemplateControllerSpec, error) {
	if packed.Int("size") == 0 {
		return &tc.Spec, nil
	}
	now, err := s.current(ctx, packed)
	if err != nil {
		return nil, err
	}
	if now.Generation() != packed.Generation() {
		return nil, errBehind
	}
	read, err := decode(now)
	if err != nil {
		return nil, err
	}
	return &read.Spec, nil
}

// finalizers returns those of a TemplateController in the cache, which may have too many to be kept.
func (s *store) finalizers(ctx context.Context, packed *object.Object) ([]string, error) {
	if packed.Int("metadata", "finalizersTrimmed") == 0 {
		return packed.Finalizers(), nil
	}
	now, err := s.current(ctx, packed)
	if err != nil {
		return nil, err
	}
	if now.ResourceVersion() != packed.ResourceVersion() {
		return nil, errBehind
	}
	return now.Finalizers(), nil
}

// setFinalizer adds the finalizer to a TemplateController, or removes it. A refusal is reported, too; the error is to be retried.
func (s *store) setFinalizer(ctx context.Context, tc *v1.TemplateController, packed *object.Object, add bool) (*spec.Rejection, error) {
	o := request.Location{Resource: v1.Resource, Name: packed.Name()}
	all, err := s.finalizers(ctx, packed)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(f string) bool { return f == v1.FinalizerChildren })
	if add {
		all = append(all, v1.FinalizerChildren)
	}
	after, err := s.clusters("").SetFinalizers(ctx, o, packed.ResourceVersion(), all)
	if apierrors.IsConflict(err) {
		return nil, errBehind
	}
	if err != nil {
		return spec.Rejectf(v1.ReasonFinalizerRejected, "cannot set or remove the finalizer %s of this TemplateController: %s", v1.FinalizerChildren, problem.PublicReason(err)),
			fmt.Errorf("set finalizers of TemplateController %s: %w", o.Name, err)
	}
	tc.ResourceVersion = after.ResourceVersion()
	s.cache.Put(after, ownWriter)
	return nil, nil
}

// applyStatus writes the status of the version of a TemplateController that was read, and so
// never overwrites what another installation has written since. The error
// is errBehind if the version has changed.
func (s *store) applyStatus(ctx context.Context, tc *v1.TemplateController, status v1.TemplateControllerStatus) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return fmt.Errorf("status of TemplateController %s: %w", tc.Name, err)
	}
	body := object.Append(nil, map[string]any{
		"apiVersion": v1.GroupVersion.String(), "kind": v1.KindTemplateController,
		"metadata": map[string]any{"name": tc.Name, "uid": string(tc.UID), "resourceVersion": tc.ResourceVersion}, "status": content,
	})
	after, err := s.clusters("").ApplyStatus(ctx, request.Location{Resource: v1.Resource, Name: tc.Name}, body, ownWriter, true)
	switch {
	case request.MissingObject(err):
		return nil // deleted meanwhile
	case apierrors.IsConflict(err):
		return errBehind
	case err != nil:
		return fmt.Errorf("write status of TemplateController %s: %w", tc.Name, err)
	}
	s.cache.Put(after, ownWriter)
	return nil
}

// setCondition sets a condition in the status of a TemplateController, with a message without values. All conditions are set
// here.
func (s *store) setCondition(status *v1.TemplateControllerStatus, tc *v1.TemplateController, condition metav1.Condition) {
	condition.Message = problem.Line(condition.Message)
	condition.ObservedGeneration = tc.Generation
	condition.LastTransitionTime = metav1.NewTime(s.clock.Now().Truncate(time.Second))
	meta.SetStatusCondition(&status.Conditions, condition) //nolint:forbidigo // this is the place
}

// MayPrune reports whether a controller may delete and release: it must run the latest spec. The watch may know a newer one that Sync has not
// started yet. This replica may have taken over from another one before its watch knew the latest, so the server is asked once.
func (s *store) MayPrune(ctx context.Context, by *running.Controller) bool {
	s.mu.RLock()
	e := s.tracked[by.Name]
	confirmed := !s.led.Load() || e != nil && e.confirmed
	s.mu.RUnlock()
	return e != nil && isRunBy(s.cache.Get(types.NamespacedName{Name: by.Name}), e, by) && (confirmed || s.Unchanged(ctx, by))
}

// Unchanged reads the TemplateController of a running controller from the API server, and reports whether its spec is still the one that
// the controller runs.
func (s *store) Unchanged(ctx context.Context, by *running.Controller) bool {
	s.mu.RLock()
	e := s.tracked[by.Name]
	s.mu.RUnlock()
	if e == nil {
		return false
	}
	now, err := s.clusters("").Get(ctx, request.Location{Resource: v1.Resource, Name: by.Name})
	if err != nil || !isRunBy(now, e, by) {
		klog.FromContext(ctx).Info("nothing is deleted or released until the current TemplateController is read, will retry", "controller", by.Name)
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.confirmed = true
	return true
}

// Confirmed reports whether a parent is as the server has it. The replica that led before may have read a newer version, and created children
// that only that one yields. So the server is asked once for each parent.
func (s *store) Confirmed(ctx context.Context, by *running.Controller, parent *object.Object) bool {
	s.mu.RLock()
	e := s.tracked[by.Name]
	confirmed := !s.led.Load() || e != nil && e.confirmedParents[parent.Key()] == parent.UID()
	s.mu.RUnlock()
	if e == nil || confirmed {
		return confirmed
	}
	now, err := by.Cluster.Get(ctx, running.Locate(by.Kind, parent.Key()))
	if err != nil || now.UID() != parent.UID() || now.ResourceVersion() != parent.ResourceVersion() {
		klog.FromContext(ctx).Info("no child is deleted until the current parent is read, will retry", "controller", by.Name, "parent", parent.Key().String())
		return false
	}
	name := types.NamespacedName{Namespace: strings.Clone(parent.Namespace()), Name: strings.Clone(parent.Name())} // which are parts of its text
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.confirmedParents == nil {
		e.confirmedParents = map[types.NamespacedName]types.UID{}
	}
	e.confirmedParents[name] = types.UID(strings.Clone(string(parent.UID())))
	return true
}

// isRunBy reports whether a controller runs the spec of that TemplateController, which may be nil.
func isRunBy(tc *object.Object, e *tracked, by *running.Controller) bool {
	return tc != nil && tc.UID() == e.uid && tc.Generation() == by.Generation
}

// MayWrite reports whether the named TemplateController may write the status of a parent of that kind. It may not if it is deleted, watches
// another kind, no longer selects the parent, or is not accepted: anybody can use its field manager then.
func (s *store) MayWrite(name string, kind schema.GroupKind, parent types.NamespacedName) bool {
	packed := s.cache.Get(types.NamespacedName{Name: name})
	if packed == nil {
		return !running.Readable(s.cache) // it may exist all the same
	}
	if WatchedKind(packed) != kind {
		return false
	}
	other := s.get(name)
	if other == nil {
		return accepted(packed)
	}
	return !other.Current(parent.Namespace) || other.Parent(parent) != nil
}

// accepted reports whether an installation accepted the TemplateController, at this or an earlier generation. Authors cannot write that
// condition. It stays true during a handover to another class, so that the fields wait for the new installation.
func accepted(packed *object.Object) bool {
	return meta.IsStatusConditionTrue(Conditions(packed), v1.ConditionAccepted)
}

// Conditions returns the conditions of a TemplateController.
func Conditions(packed *object.Object) (conditions []metav1.Condition) {
	if err := packed.Unmarshal(&conditions, "status", "conditions"); err != nil {
		return nil // the schema rules it out
	}
	return conditions
}

// WatchedKind returns the kind of the parents of a TemplateController, as its spec has it.
func WatchedKind(packed *object.Object) schema.GroupKind {
	return schema.FromAPIVersionAndKind(packed.Text("spec", "watch", "apiVersion"), packed.Text("spec", "watch", "kind")).GroupKind()
}
