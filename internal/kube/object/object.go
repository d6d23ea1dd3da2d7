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

// Object is an object as the server had it at one resource version. It is
// immutable, and safe for concurrent use. Its fields are many as there may be millions of objects: each is in the smallest form. It has a
// method for each part of an object that anybody reads, as metav1.Object has.
type Object struct {
	data      string                // JSON without managedFields
	namespace unique.Handle[string] // as name a copy, which may be kept without keeping data
	name      string

	// Where in data the values of members of metadata are; texts without their quotes.
	uid, version, labels, annotations, owners span
	metadata                                  uint32        // where the members of metadata begin; 0 = there is none
	owned                                     atomic.Uint32 // see SetOwned
	generation                                int64
	ownership                                 unique.Handle[string] // see ownership.go

	noted   atomic.Uint32 // see facts.go
	applied uint32        // see Applied; seconds since 1970
}

// span is a part of a text: from is the first byte, to the one after the last.
type span struct{ from, to uint32 }

func (o *Object) text(s span) string { return o.data[s.from:s.to] }

// Namespace returns the namespace, "" for a cluster-scoped object.
func (o *Object) Namespace() string { return o.namespace.Value() }

// Name returns the name.
func (o *Object) Name() string { return o.name }

// Key returns namespace and name.
func (o *Object) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: o.Namespace(), Name: o.name}
}

// UID returns the UID. Keeping it keeps the whole text of the object; so does
// keeping any other string from here on.
func (o *Object) UID() types.UID { return types.UID(o.text(o.uid)) }

// ResourceVersion returns the resource version as the server wrote it.
func (o *Object) ResourceVersion() string { return o.text(o.version) }

// Version returns the resource version as a number, or 0 where it is none (an
// aggregated API server may have versions of its own kind).
func (o *Object) Version() uint64 {
	v, err := strconv.ParseUint(o.ResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// String names the object: "ConfigMap default/a". What prints or logs an object must not
// show what it holds.
func (o *Object) String() string {
	if o.Namespace() == "" {
		return o.Kind() + " " + o.name
	}
	return o.Kind() + " " + o.Key().String()
}

// LogValue is String: client-go's Reflector logs objects that a cache does not take.
func (o *Object) LogValue() slog.Value { return slog.StringValue(o.String()) }

// Generation returns the generation, 0 where there is none.
func (o *Object) Generation() int64 { return o.generation }

// Deleting reports whether the object has a deletionTimestamp.
func (o *Object) Deleting() bool { return o.Noted(deleting) }

// APIVersion returns the apiVersion.
func (o *Object) APIVersion() string { return o.Text("apiVersion") }

// Kind returns the kind.
func (o *Object) Kind() string { return o.Text("kind") }

// Text returns the text at a path of keys, or "" where there is none.
func (o *Object) Text(path ...string) string {
	r := reader{s: o.data}
	if !r.seek(path) || r.next() != '"' {
		return ""
	}
	return r.text()
}

// Int returns the whole number at a path of keys, or 0 where there is none.
func (o *Object) Int(path ...string) int64 {
	n, err := strconv.ParseInt(o.JSON(path...), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Label returns the value of a label, "" where there is none.
func (o *Object) Label(key string) string {
	value, _ := o.Lookup(key)
	return value
}

// Annotation returns the value of an annotation, "" where there is none.
func (o *Object) Annotation(key string) string {
	value, _ := lookup(o.text(o.annotations), key)
	return value
}

// Has reports whether there is such a label. Has, Get and Lookup make Object a
// labels.Labels, which selectors take.
func (o *Object) Has(label string) bool {
	_, ok := o.Lookup(label)
	return ok
}

// Get is Label.
func (o *Object) Get(label string) string { return o.Label(label) }

// Lookup returns the value of a label and whether there is one.
func (o *Object) Lookup(label string) (string, bool) { return lookup(o.text(o.labels), label) }

// SameLabels reports whether both objects have the same labels, written alike.
func (o *Object) SameLabels(other *Object) bool { return o.text(o.labels) == other.text(other.labels) }

// SameAt reports whether both objects have the same at a path of keys, written alike, or neither has anything there.
func (o *Object) SameAt(other *Object, path []string) bool {
	return o.JSON(path...) == other.JSON(path...)
}

// JSON returns the text of what is at a path of keys, or "" where there is nothing.
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

// lookup returns the text under a key of a mapping of texts.
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
	// Block is whether the owner waits for the object where it is deleted in the foreground.
	Block bool
}

// Controller returns the owner reference that has controller: true, or false
// where there is none.
func (o *Object) Controller() (Owner, bool) {
	for owner := range o.eachOwner {
		if owner.Controller {
			return owner, true
		}
	}
	return Owner{}, false
}

// Owner returns the owner reference to the object with that UID, or false where there is none.
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

// HasFinalizer reports whether the object has that finalizer.
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

// Content returns the object as JSON data, without managedFields and
// resourceVersion, which change although nothing else does: a fresh copy whose maps
// and lists the caller may change. Its strings may be parts of the text of the
// object. Numbers are int64 where they are integers that fit, else float64.
func (o *Object) Content() map[string]any {
	r := reader{s: o.data}
	content, _ := r.value().(map[string]any)
	if metadata, ok := content["metadata"].(map[string]any); ok {
		delete(metadata, "resourceVersion")
	}
	return content
}

// Unmarshal reads the object, or what it has at a path of keys, into something typed, which it leaves alone where there is nothing. managedFields are
// left out.
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

// At returns what is at a path of keys, as Content has it, or nil where there is nothing.
func (o *Object) At(path ...string) any {
	text := o.JSON(path...)
	if text == "" {
		return nil
	}
	r := reader{s: text}
	return r.value()
}

// Terminating returns the object with that deletionTimestamp (RFC 3339), or the
// object itself when it has one.
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
