// Package store reads and writes TemplateControllers. The cache keeps trimmed copies: see Trim.
package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Writer is the field manager for TemplateControllers, and marks own writes in their cache.
const Writer = "templater"

// ErrBehind means that a TemplateController has changed since it was read; the watch will deliver the change.
var ErrBehind = errors.New("the TemplateController was changed in the meantime")

// Store reads TemplateControllers from the cache and from the API server, and writes them.
type Store struct {
	// Caches are those of TemplateControllers and NamespacedTemplateControllers.
	Caches  [2]*watch.Cache
	Cluster controller.Client // as the operator itself
	Clock   clock.PassiveClock
}

// CacheOf returns the cache with the TemplateController with a key.
func (s *Store) CacheOf(key string) *watch.Cache {
	if v1.ResourceOf(key) == v1.NamespacedResource {
		return s.Caches[1]
	}
	return s.Caches[0]
}

// Cached returns the TemplateController with a key from its cache, or nil.
func (s *Store) Cached(key string) *object.Object { return s.CacheOf(key).Get(nameOf(key)) }

// Each calls f for all cached TemplateControllers.
func (s *Store) Each(f func(*object.Object)) {
	for _, cache := range s.Caches {
		cache.Each(func(o *object.Object) bool {
			f(o)
			return true
		})
	}
}

func nameOf(key string) types.NamespacedName {
	namespace, name := v1.SplitKey(key)
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// At returns the location of the TemplateController with a key.
func At(key string) request.Location {
	namespace, name := v1.SplitKey(key)
	return request.Location{Resource: v1.ResourceOf(key), Namespace: namespace, Name: name}
}

// KeyOf returns the key of a TemplateController.
func KeyOf(packed *object.Object) string { return v1.Key(packed.Namespace(), packed.Name()) }

// current reads a TemplateController from the API server. It returns ErrBehind if it was deleted or recreated.
func (s *Store) current(ctx context.Context, packed *object.Object) (*object.Object, error) {
	now, err := s.Cluster.Get(ctx, At(KeyOf(packed)))
	switch {
	case apierrors.IsNotFound(err) || err == nil && now.UID() != packed.UID():
		return nil, ErrBehind
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", v1.Describe(KeyOf(packed)), err)
	}
	return now, nil
}

// Whole returns the spec of a cached TemplateController. If the cache only has its outline, Whole reads the spec from
// the API server. It returns ErrBehind if that has another generation.
func (s *Store) Whole(ctx context.Context, packed *object.Object, tc *v1.TemplateController) (*v1.TemplateControllerSpec, error) {
	if packed.Int("size") == 0 {
		return &tc.Spec, nil
	}
	now, err := s.current(ctx, packed)
	if err != nil {
		return nil, err
	}
	if now.Generation() != packed.Generation() {
		return nil, ErrBehind
	}
	read, err := Decode(now)
	if err != nil {
		return nil, err
	}
	return &read.Spec, nil
}

// finalizers returns the finalizers of a cached TemplateController, which may be too many for the cache.
func (s *Store) finalizers(ctx context.Context, packed *object.Object) ([]string, error) {
	if packed.Int("metadata", "finalizersTrimmed") == 0 {
		return packed.Finalizers(), nil
	}
	now, err := s.current(ctx, packed)
	if err != nil {
		return nil, err
	}
	if now.ResourceVersion() != packed.ResourceVersion() {
		return nil, ErrBehind
	}
	return now.Finalizers(), nil
}

// SetFinalizer adds or removes the finalizer of a TemplateController. The caller must retry on an error; a rejection is
// also returned for the status.
func (s *Store) SetFinalizer(ctx context.Context, tc *v1.TemplateController, packed *object.Object, add bool) (*spec.Rejection, error) {
	o := At(KeyOf(packed))
	all, err := s.finalizers(ctx, packed)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(f string) bool { return f == v1.FinalizerChildren })
	if add {
		all = append(all, v1.FinalizerChildren)
	}
	after, err := s.Cluster.SetFinalizers(ctx, o, packed.ResourceVersion(), all)
	if apierrors.IsConflict(err) {
		return nil, ErrBehind
	}
	if err != nil {
		return spec.Rejectf(v1.ReasonFinalizerRejected, "cannot set or remove the finalizer %s of this TemplateController: %s", v1.FinalizerChildren, problem.PublicReason(err)),
			fmt.Errorf("set finalizers of %s: %w", v1.Describe(tc.Key()), err)
	}
	tc.ResourceVersion = after.ResourceVersion()
	s.CacheOf(tc.Key()).Put(after, Writer)
	return nil, nil
}

// ApplyStatus writes the status if the TemplateController has not changed since it was read, so that it never
// overwrites what another installation has written since. It returns ErrBehind if it has changed.
func (s *Store) ApplyStatus(ctx context.Context, tc *v1.TemplateController, status v1.TemplateControllerStatus) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return fmt.Errorf("status of %s: %w", v1.Describe(tc.Key()), err)
	}
	metadata := map[string]any{"name": tc.Name, "uid": string(tc.UID), "resourceVersion": tc.ResourceVersion}
	if tc.Namespace != "" {
		metadata["namespace"] = tc.Namespace
	}
	body := object.Append(nil, map[string]any{"apiVersion": v1.GroupVersion.String(), "kind": v1.KindOf(tc.Key()), "metadata": metadata, "status": content})
	after, err := s.Cluster.ApplyStatus(ctx, At(tc.Key()), body, Writer, true)
	switch {
	case request.MissingObject(err):
		return nil // deleted in the meantime
	case apierrors.IsConflict(err):
		return ErrBehind
	case err != nil:
		return fmt.Errorf("write status of %s: %w", v1.Describe(tc.Key()), err)
	}
	s.CacheOf(tc.Key()).Put(after, Writer)
	return nil
}

// SetCondition sets a condition in the status of a TemplateController, with a sanitized message. All conditions are set
// here.
func (s *Store) SetCondition(status *v1.TemplateControllerStatus, tc *v1.TemplateController, condition metav1.Condition) {
	condition.Message = problem.Line(condition.Message)
	condition.ObservedGeneration = tc.Generation
	condition.LastTransitionTime = metav1.NewTime(s.Clock.Now().Truncate(time.Second))
	meta.SetStatusCondition(&status.Conditions, condition) //nolint:forbidigo // the only allowed call
}

// HasFinalizer reports whether a TemplateController has its own finalizer.
func HasFinalizer(tc *v1.TemplateController) bool {
	return slices.Contains(tc.Finalizers, v1.FinalizerChildren)
}

// Accepted reports whether an installation accepted this or an earlier generation of the TemplateController. Authors
// cannot write that condition. It stays True during a handover to another class, so that status fields are kept for the
// new installation.
func Accepted(packed *object.Object) bool {
	return meta.IsStatusConditionTrue(Conditions(packed), v1.ConditionAccepted)
}

// Conditions returns the conditions of a TemplateController.
func Conditions(packed *object.Object) (conditions []metav1.Condition) {
	if err := packed.Unmarshal(&conditions, "status", "conditions"); err != nil {
		return nil // prevented by the schema
	}
	return conditions
}

// WatchedKind returns the kind of the parents according to the spec of a TemplateController.
func WatchedKind(packed *object.Object) schema.GroupKind {
	return schema.FromAPIVersionAndKind(packed.Text("spec", "watch", "apiVersion"), packed.Text("spec", "watch", "kind")).GroupKind()
}
