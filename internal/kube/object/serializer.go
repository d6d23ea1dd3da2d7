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

// Serializer has a client of client-go read objects as *Object, lists as *List,
// and a Status as *metav1.Status. It encodes nothing: bodies of requests are
// made with Append.
func Serializer() runtime.NegotiatedSerializer {
	s := serializer{}
	return runtime.NewSimpleNegotiatedSerializer(runtime.SerializerInfo{
		MediaType: runtime.ContentTypeJSON, MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true,
		Serializer: s, StrictSerializer: s,
		StreamSerializer: &runtime.StreamSerializerInfo{EncodesAsText: true, Serializer: events{}, Framer: framer{}},
	})
}

// List is a list as the server answers it, of *Object.
type List struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

// GetObjectKind makes List a runtime.Object.
func (l *List) GetObjectKind() schema.ObjectKind { return &l.TypeMeta }

// DeepCopyObject makes List a runtime.Object. The objects are immutable, and shared.
func (l *List) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = append([]runtime.Object(nil), l.Items...)
	return &copied
}

// GetObjectKind makes Object a runtime.Object. Nobody may set a kind.
func (o *Object) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject makes Object a runtime.Object: an immutable one needs no copy.
func (o *Object) DeepCopyObject() runtime.Object { return o }

// GetObjectMeta gives a Reflector what it asks for: identity and version, and
// the annotations of a bookmark, which has no name.
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
	if err != nil {
		return nil, nil, err
	}
	gvk := schema.FromAPIVersionAndKind(o.APIVersion(), o.Kind())
	if gvk.Version == "v1" && gvk.Kind == "Status" && gvk.Group == "" {
		status := &metav1.Status{}
		if err := json.Unmarshal(text, status); err != nil {
			return nil, nil, fmt.Errorf("decode a status: %w", err)
		}
		return status, &gvk, nil
	}
	if list, err := o.list(gvk); list != nil || err != nil {
		return list, &gvk, err
	}
	return o, &gvk, nil
}

// list takes the object for a list: it has no name, but items, which may be null where there are none. The kind does
// not tell, for a definition may call its lists as it likes. list returns nil where it is none.
func (o *Object) list(gvk schema.GroupVersionKind) (runtime.Object, error) {
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
	for r.items('[', ']') {
		from := r.at
		r.skip()
		item, err := Decode([]byte(typed(r.s[from:r.at], l.APIVersion, strings.TrimSuffix(l.Kind, "List"))))
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, item)
	}
	return l, nil
}

// typed adds apiVersion and kind, which the server leaves out of the items of
// a list of a built-in kind.
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

// Decode fills a *metav1.WatchEvent from a frame, which the framer has found to be valid JSON.
// Its object is a part of the frame.
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

// framer tells the frames of a watch, which are JSON texts one after the other.
type framer struct{}

func (framer) NewFrameWriter(io.Writer) io.Writer { return nil }

func (framer) NewFrameReader(r io.ReadCloser) io.ReadCloser {
	return &frames{source: r, decoder: jsontext.NewDecoder(r, options, jsontext.AllowInvalidUTF8(true))} // Decode looks
}

type frames struct {
	source  io.Closer
	decoder *jsontext.Decoder
	rest    []byte // of the present frame
}

// Read fills p from the present frame; io.ErrShortBuffer says that there is more of it.
func (f *frames) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		value, err := f.decoder.ReadValue()
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, io.ErrUnexpectedEOF // unwrapped, a torn connection is known for what it is, and the watch goes on where it was
		}
		if err != nil {
			return 0, withoutText(err)
		}
		f.rest = value // the decoder keeps it until it reads on
	}
	n := copy(p, f.rest)
	if f.rest = f.rest[n:]; len(f.rest) > 0 {
		return n, io.ErrShortBuffer
	}
	return n, nil
}

func (f *frames) Close() error { return f.source.Close() }
