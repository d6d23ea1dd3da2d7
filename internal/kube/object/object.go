package object

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unique"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
)

// Object is an API object at one resource version. It is immutable, except for the facts noted about it, and safe for concurrent
// use. Its fields are compact, because there can be millions of objects. Its accessors are similar to those of metav1.Object.
type Object struct {
	data      string                // JSON without managedFields
	namespace unique.Handle[string] // a copy like name, so that keeping it does not keep data
	name      string

	// Spans in data of the values of members of metadata; those of strings exclude the quotes.
	uid, version, labels, annotations, owners span
	metadata                                  uint32        // start of the members of metadata; 0 = no metadata
	owned                                     atomic.Uint32 // see SetOwned
	generation                                int64
	ownership                                 unique.Handle[string] // see managedfields.go

	noted   atomic.Uint32 // see facts.go
	applied uint32        // see AppliedAt; Unix seconds
}

// span is a part of a text: from is the first byte, to is the byte after the last.
type span struct{ from, to uint32 }

func (o *Object) text(s span) string { return o.data[s.from:s.to] }

// Namespace returns the namespace, or "" for a cluster-scoped object.
func (o *Object) Namespace() string { return o.namespace.Value() }

// Name returns the name.
func (o *Object) Name() string { return o.name }

// Key returns namespace and name.
func (o *Object) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: o.Namespace(), Name: o.name}
}

// UID returns the UID. Keeping the returned string keeps the whole text of the object in memory. The same holds for all strings
// returned by the methods below.
func (o *Object) UID() types.UID { return types.UID(o.text(o.uid)) }

// ResourceVersion returns the resource version as sent by the server.
func (o *Object) ResourceVersion() string { return o.text(o.version) }

// Version returns the resource version as a number, or 0 if it is not a number: an aggregated API server may use another format.
func (o *Object) Version() uint64 {
	v, err := strconv.ParseUint(o.ResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// String identifies the object: "ConfigMap default/a". It contains no field values, so it is safe for logs.
func (o *Object) String() string {
	if o.Namespace() == "" {
		return o.Kind() + " " + o.name
	}
	return o.Kind() + " " + o.Key().String()
}

// LogValue is String: client-go's Reflector logs objects that a cache rejects.
func (o *Object) LogValue() slog.Value { return slog.StringValue(o.String()) }

// Generation returns the generation, or 0 if there is none.
func (o *Object) Generation() int64 { return o.generation }

// Deleting reports whether the object has a deletionTimestamp.
func (o *Object) Deleting() bool { return o.Noted(deleting) }

// APIVersion returns the apiVersion.
func (o *Object) APIVersion() string { return o.Text("apiVersion") }

// Kind returns the kind.
func (o *Object) Kind() string { return o.Text("kind") }

// Text returns the string at a path of keys, or "" if there is none.
func (o *Object) Text(path ...string) string {
	r := reader{s: o.data}
	if !r.seek(path) || r.next() != '"' {
		return ""
	}
	return r.text()
}

// Int returns the integer at a path of keys, or 0 if there is none.
func (o *Object) Int(path ...string) int64 {
	n, err := strconv.ParseInt(o.JSON(path...), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Label returns the value of a label, or "" if there is none.
func (o *Object) Label(key string) string {
	value, _ := o.Lookup(key)
	return value
}

// Annotation returns the value of an annotation, or "" if there is none.
func (o *Object) Annotation(key string) string {
	value, _ := lookup(o.text(o.annotations), key)
	return value
}

// Has reports whether the label exists. Has, Get and Lookup implement labels.Labels for selectors.
func (o *Object) Has(label string) bool {
	_, ok := o.Lookup(label)
	return ok
}

// Get is Label.
func (o *Object) Get(label string) string { return o.Label(label) }

// Lookup returns the value of a label, and whether it exists.
func (o *Object) Lookup(label string) (string, bool) { return lookup(o.text(o.labels), label) }

// SameLabels reports whether both objects have byte-identical labels.
func (o *Object) SameLabels(other *Object) bool { return o.text(o.labels) == other.text(other.labels) }

// SameAt reports whether both objects have byte-identical values at a path of keys, or neither has a value there.
func (o *Object) SameAt(other *Object, path []string) bool {
	return o.JSON(path...) == other.JSON(path...)
}

// JSON returns the value at a path of keys as JSON text, or "" if there is none.
func (o *Object) JSON(path ...string) string {
	r := reader{s: o.data}
	if !r.seek(path) {
		return ""
	}
	r.next()
	from := r.at
	r.skip()
	return r.s[from:r.at]
}

// lookup returns the string for a key of a string map.
func lookup(mapping, key string) (string, bool) {
	r := reader{s: mapping}
	if mapping == "" || !r.find(key) || r.next() != '"' {
		return "", false
	}
	return r.text(), true
}

// Owner is an owner reference.
type Owner struct {
	APIVersion, Kind, Name string
	UID                    types.UID
	Controller             bool
	// Block is blockOwnerDeletion.
	Block bool
}

// Controller returns the owner reference with controller: true, or false if there is none.
func (o *Object) Controller() (Owner, bool) {
	for owner := range o.eachOwner {
		if owner.Controller {
			return owner, true
		}
	}
	return Owner{}, false
}

// Owner returns the owner reference to the object with that UID, or false if there is none.
func (o *Object) Owner(uid types.UID) (Owner, bool) {
	for owner := range o.eachOwner {
		if owner.UID == uid {
			return owner, true
		}
	}
	return Owner{}, false
}

// Owners returns the number of owner references.
func (o *Object) Owners() int {
	n := 0
	for range o.eachOwner {
		n++
	}
	return n
}

// HasFinalizer reports whether the object has the finalizer.
func (o *Object) HasFinalizer(name string) bool {
	for finalizer := range o.eachFinalizer {
		if finalizer == name {
			return true
		}
	}
	return false
}

// Finalizers returns the finalizers.
func (o *Object) Finalizers() []string { return slices.Collect(o.eachFinalizer) }

func (o *Object) eachFinalizer(yield func(string) bool) {
	r := reader{s: o.data}
	if !r.seek([]string{"metadata", "finalizers"}) {
		return
	}
	for r.items('[', ']') {
		if !yield(r.text()) {
			return
		}
	}
}

func (o *Object) eachOwner(yield func(Owner) bool) {
	if o.owners.from == o.owners.to {
		return
	}
	r := reader{s: o.text(o.owners)}
	for r.items('[', ']') {
		var owner Owner
		for r.items('{', '}') {
			switch r.key() {
			case "apiVersion":
				owner.APIVersion = r.text()
			case "kind":
				owner.Kind = r.text()
			case "name":
				owner.Name = r.text()
			case "uid":
				owner.UID = types.UID(r.text())
			case "controller":
				owner.Controller = r.next() == 't'
				r.skip()
			case "blockOwnerDeletion":
				owner.Block = r.next() == 't'
				r.skip()
			default:
				r.skip()
			}
		}
		if !yield(owner) {
			return
		}
	}
}

// Content returns the object as JSON data, without managedFields and resourceVersion, which can change on their own. It is a
// fresh copy whose maps and lists the caller may modify. Its strings may keep the text of the object in memory. Numbers are int64
// if they are integers that fit, otherwise float64.
func (o *Object) Content() map[string]any {
	r := reader{s: o.data}
	content, _ := r.value().(map[string]any)
	if metadata, ok := content["metadata"].(map[string]any); ok {
		delete(metadata, "resourceVersion")
	}
	return content
}

// Unmarshal decodes the object, or the value at a path of keys, into a typed value. If there is no value, into is not modified.
// managedFields are omitted.
func (o *Object) Unmarshal(into any, path ...string) error {
	text := o.JSON(path...)
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("unmarshal an object: %w", withoutText(err))
	}
	return nil
}

// At returns the value at a path of keys in the format of Content, or nil if there is none.
func (o *Object) At(path ...string) any {
	text := o.JSON(path...)
	if text == "" {
		return nil
	}
	r := reader{s: text}
	return r.value()
}

// Terminating returns the object with that deletionTimestamp (RFC 3339), or the object itself if it already has one.
func (o *Object) Terminating(since string) *Object {
	if o.Deleting() || o.metadata == 0 {
		return o
	}
	var b strings.Builder
	b.WriteString(o.data[:o.metadata])
	b.WriteString(`"deletionTimestamp":"` + since + `",`)
	b.WriteString(o.data[o.metadata:])
	marked, err := Decode([]byte(b.String()))
	if err != nil {
		return o
	}
	marked.ownership, marked.applied = o.ownership, o.applied
	marked.Follow(o)
	return marked
}
