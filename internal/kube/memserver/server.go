// Package memserver is an in-memory fake API server with server-side apply, deletion and garbage collection. It also feeds watch
// caches.
//
// It uses the caller's clock. It does not check schemas by itself (see Accept), permissions or quotas, and serves one version per kind.
package memserver

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serveryaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
)

// Server is an in-memory fake API server, used as cluster admin. It is not safe for concurrent use. Its fields may be changed
// between requests.
type Server struct {
	Clock clock.PassiveClock
	// Kind returns the kind of a resource.
	Kind func(schema.GroupResource) kind.Kind
	// Objects are all stored objects. Do not modify them: see Store.
	Objects map[request.Location]*unstructured.Unstructured
	// Version is the resource version of the last write.
	Version int

	// Before is called before each request. If it returns an error, the request fails with it. Optional.
	Before func(verb string, at request.Location) error
	// Validate is called with the applied content. If it returns an error, the request fails with it. Optional.
	Validate func(at request.Location, content map[string]any, manager string) error
	// Accept is called with what an apply sends, and with the object before and after it; before is nil if the apply creates it. If it returns an
	// error, the request fails with it. Optional.
	Accept func(sent map[string]any, before, after *unstructured.Unstructured) error
	// Admit mutates an object before an apply stores it. Optional.
	Admit func(o *unstructured.Unstructured, manager string)
	// Born sets defaults in a new object. Optional.
	Born func(o *unstructured.Unstructured)

	log []change // all writes since New
	dry bool     // see DryRun
}

// New returns a Server without objects. The first write gets resource version 2, because templater uses version 1 to create
// objects.
func New(clock clock.PassiveClock, kinds func(schema.GroupResource) kind.Kind) *Server {
	return &Server{Clock: clock, Kind: kinds, Version: 1, Objects: map[request.Location]*unstructured.Unstructured{}}
}

// DryRun returns a view of the server for server-side dry runs, with the hooks that s has now. Writes are checked and return the
// resulting object, but store nothing. Before gets their verbs with the prefix "dry-run ".
func (s *Server) DryRun() *Server {
	view := *s
	view.dry = true
	return &view
}

func (s *Server) before(verb string, at request.Location) error {
	if s.Before == nil {
		return nil
	}
	if s.dry && verb != "get" && verb != "list" {
		verb = "dry-run " + verb
	}
	return s.Before(verb, at)
}

func (s *Server) validate(at request.Location, content map[string]any, manager string) error {
	if s.Validate == nil {
		return nil
	}
	return s.Validate(at, content, manager)
}

// Get returns an object.
func (s *Server) Get(_ context.Context, at request.Location) (*object.Object, error) {
	if err := s.before("get", at); err != nil {
		return nil, err
	}
	if o := s.Objects[at]; o != nil {
		return pack(o), nil
	}
	return nil, NotFound(at)
}

// GetDated is Get, and also returns the Date header of the response, in whole seconds.
func (s *Server) GetDated(ctx context.Context, at request.Location) (*object.Object, time.Time, error) {
	o, err := s.Get(ctx, at)
	return o, s.Clock.Now().Truncate(time.Second), err
}

// Selected reports whether an object exists that matches both selectors.
func (s *Server) Selected(_ context.Context, at request.Location, labels, fields string) (bool, error) {
	if err := s.before("list", at); err != nil {
		return false, err
	}
	o := s.Objects[at]
	return o != nil && selected(o, labels, fields), nil
}

// Allowed returns true.
func (s *Server) Allowed(context.Context, request.Permission) (bool, error) { return true, nil }

// Apply is a server-side apply with force.
func (s *Server) Apply(_ context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
	content, err := unpack(body)
	if err != nil {
		return nil, err
	}
	metadata, _ := content["metadata"].(map[string]any)
	version, _ := metadata["resourceVersion"].(string)
	uid, _ := metadata["uid"].(string)
	verb := "update"
	if version == "1" {
		verb = "create"
	}
	if err := s.before(verb, at); err != nil {
		return nil, err
	}
	if err := s.validate(at, content, manager); err != nil {
		return nil, err
	}
	there := s.Objects[at]
	before := there
	switch {
	case there == nil && uid != "", there != nil && version != "" && version != there.GetResourceVersion():
		return nil, Conflict(at)
	case there != nil && uid != "" && uid != string(there.GetUID()):
		return nil, otherUID(at, uid)
	case there == nil:
		there = s.NewObject(at, content)
		if s.Born != nil {
			s.Born(there)
		}
	}
	delete(metadata, "resourceVersion")
	delete(metadata, "uid")
	kind := s.Kind(at.Resource.GroupResource())
	if kind.Status != nil {
		delete(content, "status")
	}
	lists := listsOf(kind)
	if at.Resource.Resource == "templaterevisions" {
		lists = ofRevisions
	}
	after := lists.Applied(there, content, manager, "")
	if s.Admit != nil {
		s.Admit(after, manager)
	}
	if s.Accept != nil {
		if err := s.Accept(content, before, after); err != nil {
			return nil, err
		}
	}
	return pack(s.Store(at, after)), nil
}

// ApplyStatus is a server-side apply of the status. Without force, it fails if it changes fields that other managers own.
func (s *Server) ApplyStatus(_ context.Context, at request.Location, body []byte, manager string, force bool) (*object.Object, error) {
	if err := s.before("status", at); err != nil {
		return nil, err
	}
	content, err := unpack(body)
	if err != nil {
		return nil, err
	}
	there, kind := s.Objects[at], s.Kind(at.Resource.GroupResource())
	if there == nil || kind.Status == nil {
		return nil, NotFound(at)
	}
	if version, _, _ := unstructured.NestedString(content, "metadata", "resourceVersion"); version != "" && version != there.GetResourceVersion() {
		return nil, Conflict(at)
	}
	if err := s.validate(at, content, manager); err != nil {
		return nil, err
	}
	if before, _ := Holdings(there, manager, "status"); emptied(content["status"], before["f:status"]) {
		return nil, nullStatus()
	}
	status := map[string]any{}
	if content["status"] != nil {
		status["status"] = content["status"]
	}
	lists := listsOf(kind)
	if owned := lists.owned(there, status, manager, "status"); !force && len(owned) > 0 {
		return nil, fieldConflict(owned)
	}
	return pack(s.Store(at, lists.Applied(there, status, manager, "status"))), nil
}

// ofRevisions are the Lists of TemplateRevisions.
var ofRevisions = Lists{"ownerReferences": Usual["ownerReferences"], "rollout": atomicMap}

// atomic are the Lists of kinds whose conditions are atomic.
var atomic = Lists{"ownerReferences": Usual["ownerReferences"]}

func listsOf(kind kind.Kind) Lists {
	if kind.Status != nil && kind.Status.Atomic {
		return atomic
	}
	return Usual
}

// emptied reports whether an apply has an empty map in which the manager owns fields. Server-side apply replaces it by null,
// which schemas reject.
func emptied(applied, before any) bool {
	content, isMap := applied.(map[string]any)
	set, _ := before.(map[string]any)
	if !isMap {
		return false
	}
	for name, value := range content {
		if emptied(value, set["f:"+name]) {
			return true
		}
	}
	return len(content) == 0 && len(set) > 0
}

// SetFinalizers replaces the finalizers of an object if it has that resource version.
func (s *Server) SetFinalizers(_ context.Context, at request.Location, version string, finalizers []string) (*object.Object, error) {
	if err := s.before("finalizers["+strings.Join(finalizers, " ")+"]", at); err != nil {
		return nil, err
	}
	o := s.Objects[at]
	if o == nil {
		return nil, NotFound(at)
	}
	if o.GetResourceVersion() != version {
		return nil, Conflict(at)
	}
	next := o.DeepCopy()
	next.SetFinalizers(finalizers)
	return pack(s.Store(at, next)), nil
}

// Each calls visit for each object of a resource, sorted by namespace and name.
func (s *Server) Each(_ context.Context, resource schema.GroupVersionResource, namespace string, visit func(*object.Object)) error {
	return s.each(resource, namespace, "", visit)
}

// EachMetadata is Each for the objects that a label selector matches. The objects also have what is not metadata.
func (s *Server) EachMetadata(_ context.Context, resource schema.GroupVersionResource, selector string, visit func(*object.Object)) error {
	return s.each(resource, "", selector, visit)
}

func (s *Server) each(resource schema.GroupVersionResource, namespace, selector string, visit func(*object.Object)) error {
	everywhere := namespace
	if everywhere == "" {
		everywhere = "everywhere"
	}
	if err := s.before("list", request.Location{Resource: resource, Name: everywhere}); err != nil {
		return err
	}
	found := map[string]*unstructured.Unstructured{}
	for at, o := range s.Objects {
		if at.Resource == resource && (namespace == "" || at.Namespace == namespace) && selected(o, selector, "") {
			found[at.Namespace+"/"+at.Name] = o
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		visit(pack(found[key]))
	}
	return nil
}

// SetMetadata is a merge patch of labels, annotations and owner references.
func (s *Server) SetMetadata(_ context.Context, at request.Location, m request.Metadata, manager string) (*object.Object, error) {
	if err := s.before("mark", at); err != nil {
		return nil, err
	}
	return s.merge(at, m.Patch(), manager)
}

// ReleaseFields makes a manager give up fields, without changing values.
func (s *Server) ReleaseFields(_ context.Context, at request.Location, of request.Release) (*object.Object, error) {
	if err := s.before("release", at); err != nil {
		return nil, err
	}
	there := s.Objects[at]
	switch {
	case there == nil:
		return nil, NotFound(at)
	case there.GetUID() != of.UID:
		return nil, Conflict(at)
	}
	next := there.DeepCopy()
	managed, _, _ := unstructured.NestedSlice(next.Object, "metadata", "managedFields")
	rest, owned := object.ReleaseFields(managed, of.Manager, of.Paths)
	if !owned {
		return pack(there), nil
	}
	next.Object["metadata"].(map[string]any)["managedFields"] = rest
	return pack(s.Store(at, next)), nil
}

// unpack parses an apply request like an API server: as YAML.
func unpack(body []byte) (content map[string]any, err error) {
	err = serveryaml.UnmarshalStrict(body, &content)
	return content, err
}

// pack converts an object to the format that clients return.
func pack(o *unstructured.Unstructured) *object.Object {
	out, err := object.From(o.Object)
	if err != nil {
		panic(err) // cannot happen: it is JSON data
	}
	return out
}

// Merge is a JSON merge patch.
func (s *Server) Merge(_ context.Context, at request.Location, patch map[string]any, manager string) (*object.Object, error) {
	if err := s.before("patch", at); err != nil {
		return nil, err
	}
	return s.merge(at, patch, manager)
}

func (s *Server) merge(at request.Location, patch map[string]any, manager string) (*object.Object, error) {
	there := s.Objects[at]
	if there == nil {
		return nil, NotFound(at)
	}
	uid, hasUID, _ := unstructured.NestedString(patch, "metadata", "uid")
	version, _, _ := unstructured.NestedString(patch, "metadata", "resourceVersion")
	switch {
	case hasUID && uid != string(there.GetUID()):
		return nil, otherUID(at, uid)
	case version != "" && version != there.GetResourceVersion():
		return nil, Conflict(at)
	}
	next := &unstructured.Unstructured{Object: Patch(there.DeepCopy().Object, runtime.DeepCopyJSON(patch))}
	Updated(next, manager, Usual.Differing(there.Object, next.Object, Usual.Held(patch, "")))
	return pack(s.Store(at, next)), nil
}

// Patch returns content with a JSON merge patch applied (RFC 7386): null removes a field. It changes neither.
func Patch(content, patch map[string]any) map[string]any {
	out := maps.Clone(content)
	if out == nil {
		out = map[string]any{}
	}
	for name, to := range patch {
		fields, isMap := to.(map[string]any)
		switch from, _ := out[name].(map[string]any); {
		case to == nil:
			delete(out, name)
		case isMap:
			out[name] = Patch(from, fields)
		default:
			out[name] = to
		}
	}
	return out
}
