// Package revisions stores the revisions of TemplateControllers as TemplateRevisions.
package revisions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/revision"
)

// ErrMissing means that a TemplateRevision does not exist, or that templater has not written it as it is.
var ErrMissing = errors.New("the TemplateRevision does not exist, or its seal is not valid")

// Revision is a stored revision.
type Revision struct {
	ID     string
	Number int64
	// Spec has the fields of the revision, without defaults.
	Spec    *v1.TemplateControllerSpec
	Data    []byte // see TemplateRevision
	Rollout *v1.RolloutState
	uid     types.UID // of the TemplateRevision; "" = it is not stored yet
}

// New returns the revision of a spec, which is not stored yet.
func New(spec *v1.TemplateControllerSpec, number int64, rollout *v1.RolloutState) (*Revision, error) {
	out := &Revision{Number: number, Spec: revision.Of(spec), Rollout: rollout}
	text, err := revision.Encode(out.Spec)
	if err != nil {
		return nil, err
	}
	out.ID = revision.ID(text)
	out.Data, err = revision.Compress(text)
	return out, err
}

// Latest returns the revisions of the TemplateController, of which this is the newest one.
func (r *Revision) Latest() Latest {
	out := Latest{Update: r.ID, Current: r.ID, Number: r.Number}
	if r.Rollout != nil && r.Rollout.From != "" {
		out.Current = r.Rollout.From
	}
	return out
}

// Store reads and writes TemplateRevisions as the operator itself. It is safe for concurrent use.
type Store struct {
	Cluster controller.Client
	Seals   *seal.Ring

	mu sync.Mutex
	// newest are the newest TemplateRevisions, by the UID of their owner, as of the first call of Latest or Sweep, without those that Latest has
	// returned or Forget was called for; nil before.
	newest map[types.UID]stored
}

func at(name string) request.Location {
	return request.Location{Resource: v1.RevisionResource, Name: name}
}

// nameOf returns the name of the TemplateRevision of a TemplateController.
func nameOf(tc *v1.TemplateController, id string) string {
	name := tc.Name
	if tc.Namespace != "" {
		name = v1.NamespacedRevisionPrefix + tc.Namespace + "." + tc.Name
	}
	return revision.Name(name, tc.UID, id)
}

func ownerOf(tc *v1.TemplateController) v1.RevisionOwner {
	return v1.RevisionOwner{Namespace: tc.Namespace, Name: tc.Name, UID: tc.UID}
}

// Get reads a revision of a TemplateController. It returns ErrMissing if it does not exist or is not valid.
func (s *Store) Get(ctx context.Context, tc *v1.TemplateController, id string) (*Revision, error) {
	o, err := s.Cluster.Get(ctx, at(nameOf(tc, id)))
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("revision %s: %w", id, ErrMissing)
	}
	if err != nil {
		return nil, fmt.Errorf("read revision %s of %s: %w", id, v1.Describe(tc.Key()), err)
	}
	r, err := revision.Read(o)
	if err != nil || r.Controller != ownerOf(tc) || !s.Seals.Signed(revision.Sealed(r), r.Seal) {
		return nil, fmt.Errorf("revision %s: %w", id, ErrMissing)
	}
	out := &Revision{Number: r.Revision, Data: r.Data, Rollout: r.Rollout, uid: o.UID()}
	if out.Spec, out.ID, err = revision.Decode(r.Data); err != nil || out.ID != id {
		return nil, fmt.Errorf("revision %s: %w", id, ErrMissing)
	}
	return out, nil
}

// Put stores a revision. If it exists, it is replaced.
func (s *Store) Put(ctx context.Context, tc *v1.TemplateController, r *Revision) error {
	out := &v1.TemplateRevision{Controller: ownerOf(tc), Revision: r.Number, Data: r.Data, Rollout: r.Rollout}
	out.Seal = s.Seals.Sign(revision.Sealed(out))
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(out)
	if err != nil {
		return fmt.Errorf("revision %s of %s: %w", r.ID, v1.Describe(tc.Key()), err)
	}
	name := nameOf(tc, r.ID)
	label, value := v1.ControllerLabel(tc.Key())
	labels := map[string]any{
		v1.LabelControllerUID: string(tc.UID), v1.LabelRevision: strconv.FormatInt(r.Number, 10), v1.LabelRevisionID: r.ID, label: value, v1.LabelManagedBy: v1.ManagedBy,
	}
	if from := r.Latest().Current; from != r.ID {
		labels[v1.LabelRolloutFrom] = from
	}
	metadata := map[string]any{"name": name, "labels": labels}
	content["apiVersion"], content["kind"], content["metadata"] = v1.GroupVersion.String(), v1.KindTemplateRevision, metadata
	if r.uid == "" {
		metadata["resourceVersion"] = "1"
	} else {
		metadata["uid"] = string(r.uid)
	}
	after, err := s.Cluster.Apply(ctx, at(name), object.Append(nil, content), store.Writer)
	if r.uid == "" && (apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err)) { // it was used before
		there, getErr := s.Cluster.Get(ctx, at(name))
		if getErr != nil {
			return fmt.Errorf("read revision %s of %s: %w", r.ID, v1.Describe(tc.Key()), getErr)
		}
		delete(metadata, "resourceVersion")
		metadata["uid"] = string(there.UID())
		after, err = s.Cluster.Apply(ctx, at(name), object.Append(nil, content), store.Writer)
	}
	if err != nil {
		return fmt.Errorf("write revision %s of %s: %w", r.ID, v1.Describe(tc.Key()), err)
	}
	r.uid = after.UID()
	return nil
}

// stored is the metadata of a TemplateRevision.
type stored struct {
	name     string
	uid      types.UID
	number   int64
	owner    types.UID
	id, from string // LabelRevisionID, LabelRolloutFrom
}

// Latest are the revisions of a TemplateController; "" = there are none.
type Latest struct {
	Update  string // the ID of the newest one
	Current string // the ID of the one that parents have that do not have Update; Update if it is not rolled out
	Number  int64  // of Update
	Lost    bool   // the TemplateRevision of Update was deleted, so nobody knows which parents have it
}

// Complete reports whether all parents have Update.
func (l Latest) Complete() bool { return l.Current == l.Update && !l.Lost }

// Latest reads which revisions a TemplateController has. It does not depend on the status, which authors may be able to write, but only on the
// metadata of TemplateRevisions. The first call of Latest or Sweep reads that of all, for later calls about other TemplateControllers.
func (s *Store) Latest(ctx context.Context, owner types.UID) (Latest, error) {
	s.lock(ctx)
	defer s.mu.Unlock()
	from := s.newest
	if _, known := from[owner]; !known {
		var err error
		if from, err = s.listNewest(ctx, owner); err != nil {
			return Latest{}, err
		}
	}
	r := from[owner]
	delete(from, owner)
	return Latest{Update: r.id, Current: cmp.Or(r.from, r.id), Number: r.number}, nil
}

// lock locks mu. Meanwhile, the worker has no processor, which the holder of the lock needs after its request.
func (s *Store) lock(ctx context.Context) {
	resume := queue.WorkerOf(ctx).Wait()
	s.mu.Lock()
	resume()
}

// listNewest returns the newest TemplateRevision of an owner or, for the first time, of all. The caller holds the lock.
func (s *Store) listNewest(ctx context.Context, owner types.UID) (map[types.UID]stored, error) {
	selector := v1.LabelControllerUID + "=" + string(owner)
	if s.newest == nil {
		selector = ""
	}
	all, err := s.list(ctx, selector)
	if err != nil {
		return nil, fmt.Errorf("list TemplateRevisions: %w", err)
	}
	newest := map[types.UID]stored{}
	for _, r := range all {
		if n, more := newest[r.owner]; !more || r.number > n.number {
			newest[r.owner] = r
		}
	}
	if s.newest == nil {
		s.newest = newest
	}
	return newest, nil
}

// Forget drops what the first call of Latest has read about a TemplateController, because another installation may write its TemplateRevisions.
func (s *Store) Forget(ctx context.Context, owner types.UID) {
	s.lock(ctx)
	defer s.mu.Unlock()
	delete(s.newest, owner)
}

func (s *Store) list(ctx context.Context, selector string) (all []stored, err error) {
	err = s.Cluster.EachMetadata(ctx, v1.RevisionResource, selector, func(o *object.Object) {
		number, _ := strconv.ParseInt(o.Get(v1.LabelRevision), 10, 64)
		owner, id, from := o.Get(v1.LabelControllerUID), o.Get(v1.LabelRevisionID), o.Get(v1.LabelRolloutFrom)
		// Labels are parts of the text of the object, which is not needed any longer.
		all = append(all, stored{strings.Clone(o.Name()), o.UID(), number, types.UID(strings.Clone(owner)), strings.Clone(id), strings.Clone(from)})
	})
	return all, err
}

func (s *Store) delete(ctx context.Context, all []stored) error {
	for _, r := range all {
		if err := s.Cluster.Delete(ctx, at(r.name), request.Deletion{UID: r.uid, Propagation: metav1.DeletePropagationBackground}); err != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete TemplateRevision %s: %w", r.name, err)
		}
	}
	return nil
}

// Prune deletes the oldest revisions of a TemplateController beyond a number, except for those in keep.
func (s *Store) Prune(ctx context.Context, tc *v1.TemplateController, most int, keep ...string) error {
	all, err := s.list(ctx, v1.LabelControllerUID+"="+string(tc.UID))
	if err != nil || len(all) <= most {
		return err
	}
	slices.SortFunc(all, func(a, b stored) int { return cmp.Compare(a.number, b.number) })
	old := slices.DeleteFunc(all[:len(all)-most], func(r stored) bool {
		return slices.ContainsFunc(keep, func(id string) bool { return r.name == nameOf(tc, id) })
	})
	return s.delete(ctx, old)
}

// Drop deletes the revisions of a TemplateController with that UID, if the API server confirms that it is deleted.
func (s *Store) Drop(ctx context.Context, key string, uid types.UID) error {
	all, err := s.list(ctx, v1.LabelControllerUID+"="+string(uid))
	if err != nil || len(all) == 0 {
		return err
	}
	now, err := s.Cluster.Get(ctx, store.At(key))
	if err == nil && now.UID() == uid || err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return s.delete(ctx, all)
}

// unread returns a copy of newest, which it reads if it was not read yet.
func (s *Store) unread(ctx context.Context) (map[types.UID]stored, error) {
	s.lock(ctx)
	defer s.mu.Unlock()
	if s.newest == nil {
		if _, err := s.listNewest(ctx, ""); err != nil {
			return nil, err
		}
	}
	return maps.Clone(s.newest), nil
}

// Sweep deletes the revisions of TemplateControllers that do not exist anymore.
func (s *Store) Sweep(ctx context.Context, exists func(types.UID) bool) error {
	all, err := s.unread(ctx)
	if err != nil {
		return err
	}
	for owner, r := range all {
		if exists(owner) {
			continue
		}
		o, err := s.Cluster.Get(ctx, at(r.name))
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		whole, err := revision.Read(o)
		if err != nil {
			continue // it was not written by templater
		}
		if err := s.Drop(ctx, v1.Key(whole.Controller.Namespace, whole.Controller.Name), owner); err != nil {
			return err
		}
	}
	return nil
}
