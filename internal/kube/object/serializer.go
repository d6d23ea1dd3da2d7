package object

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Serializer returns a serializer for client-go clients that decodes objects to *Object, lists to *List, and a Status to
// *metav1.Status. It does not support encoding: request bodies are built with Append.
func Serializer() runtime.NegotiatedSerializer {
	s := serializer{}
	return runtime.NewSimpleNegotiatedSerializer(runtime.SerializerInfo{
		MediaType: runtime.ContentTypeJSON, MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true,
		Serializer: s, StrictSerializer: s,
		StreamSerializer: &runtime.StreamSerializerInfo{EncodesAsText: true, Serializer: events{}, Framer: framer{}},
	})
}

// List is a list of *Object, as returned by the server.
type List struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

// GetObjectKind implements runtime.Object.
func (l *List) GetObjectKind() schema.ObjectKind { return &l.TypeMeta }

// DeepCopyObject implements runtime.Object. The copy shares the objects, which are immutable.
func (l *List) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = append([]runtime.Object(nil), l.Items...)
	return &copied
}

// GetObjectKind implements runtime.Object. The kind cannot be set.
func (o *Object) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. It returns o, which is immutable.
func (o *Object) DeepCopyObject() runtime.Object { return o }

// GetObjectMeta returns the metadata that a Reflector uses: identity and resource version, and the annotations of a bookmark,
// which has no name.
func (o *Object) GetObjectMeta() metav1.Object {
	m := &metav1.ObjectMeta{Namespace: o.Namespace(), Name: o.name, UID: o.UID(), ResourceVersion: o.ResourceVersion()}
	if o.name != "" {
		return m
	}
	r := reader{s: o.text(o.annotations)}
	for r.items('{', '}') {
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		key := r.key()
		m.Annotations[key] = r.text()
	}
	return m
}

// serializer decodes objects, lists and statuses.
type serializer struct{}

func (serializer) Identifier() runtime.Identifier { return "templater" }

func (serializer) Encode(runtime.Object, io.Writer) error {
	return errors.New("objects are not encoded this way: see Append")
}

func (serializer) Decode(text []byte, _ *schema.GroupVersionKind, _ runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	o, err := Decode(text)
	items := ""
	if err != nil {
		refused := err
		if o, items, err = decodeDeepList(text); err != nil {
			return nil, nil, refused
		}
	}
	gvk := schema.FromAPIVersionAndKind(o.APIVersion(), o.Kind())
	if gvk.Version == "v1" && gvk.Kind == "Status" && gvk.Group == "" {
		status := &metav1.Status{}
		if err := json.Unmarshal(text, status); err != nil {
			return nil, nil, fmt.Errorf("decode a status: %w", err)
		}
		return status, &gvk, nil
	}
	if list, err := o.list(gvk, items); list != nil || err != nil {
		return list, &gvk, err
	}
	return o, &gvk, nil
}

// list decodes the object as a list, or returns nil if it is none. A list has no name, but items, which may be null if there are
// none. The kind cannot be used, because a CustomResourceDefinition can choose any list kind. items is the text of the items if
// they are too deep and were therefore removed from the object.
func (o *Object) list(gvk schema.GroupVersionKind, items string) (runtime.Object, error) {
	r := reader{s: o.data}
	if o.name != "" || !r.find("items") || r.next() != '[' && r.next() != 'n' {
		return nil, nil
	}
	l := &List{}
	l.APIVersion, l.Kind, l.ResourceVersion = gvk.GroupVersion().String(), gvk.Kind, strings.Clone(o.ResourceVersion())
	head := reader{s: o.data}
	if head.find("metadata") && head.find("continue") {
		l.Continue = strings.Clone(head.text())
	}
	if items != "" {
		r = reader{s: items}
	}
	for r.items('[', ']') {
		from := r.at
		r.skip()
		item, err := Decode([]byte(typed(r.s[from:r.at], l.APIVersion, strings.TrimSuffix(l.Kind, "List"))))
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, item)
	}
	if items != "" && (r.at != len(items) || items[r.at-1] != ']') {
		return nil, errDeepList
	}
	return l, nil
}

// typed adds apiVersion and kind, which the server omits in the items of a list of a built-in kind.
func typed(item, apiVersion, kind string) string {
	r := reader{s: item}
	if r.find("kind") || !strings.HasPrefix(item, "{") {
		return item
	}
	rest := item[1:]
	if strings.TrimSpace(rest) != "}" {
		rest = "," + rest
	}
	return `{"apiVersion":` + string(AppendText(nil, apiVersion)) + `,"kind":` + string(AppendText(nil, kind)) + rest
}

// events decodes the frames of a watch.
type events struct{}

func (events) Identifier() runtime.Identifier { return "templater-events" }

func (events) Encode(runtime.Object, io.Writer) error { return serializer{}.Encode(nil, nil) }

// Decode fills a *metav1.WatchEvent from a frame, which the framer has found to be valid JSON. Its object is a slice of the
// frame.
func (events) Decode(frame []byte, _ *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	event, ok := into.(*metav1.WatchEvent)
	if !ok {
		return nil, nil, fmt.Errorf("decode a watch event: unexpected target %T", into)
	}
	r := reader{s: string(frame)}
	for r.items('{', '}') {
		switch r.key() {
		case "type":
			event.Type = r.text()
		case "object":
			from := r.at
			r.skip()
			event.Object.Raw = frame[from:r.at]
		default:
			r.skip()
		}
	}
	return event, nil, nil
}

// framer splits a watch into frames, which are consecutive JSON texts.
type framer struct{}

func (framer) NewFrameWriter(io.Writer) io.Writer { return nil }

func (framer) NewFrameReader(r io.ReadCloser) io.ReadCloser {
	return &frames{source: r, from: r, decoder: newFrameDecoder(r)}
}

type frames struct {
	source  io.Closer
	from    io.Reader // input of the decoder
	decoder *jsontext.Decoder
	rest    []byte // of the current frame
}

// Read fills p from the current frame. It returns io.ErrShortBuffer if the frame has more data.
func (f *frames) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		value, err := f.decoder.ReadValue()
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, io.ErrUnexpectedEOF // must be unwrapped, so that client-go detects a lost connection and resumes the watch
		}
		if err != nil {
			if value, err = f.deepFrame(err); err != nil {
				return 0, withoutText(err)
			}
		}
		f.rest = value // valid until the decoder's next read
	}
	n := copy(p, f.rest)
	if f.rest = f.rest[n:]; len(f.rest) > 0 {
		return n, io.ErrShortBuffer
	}
	return n, nil
}

func (f *frames) Close() error { return f.source.Close() }
