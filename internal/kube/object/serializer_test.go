package object

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	restwatch "k8s.io/client-go/rest/watch"
)

// stream returns the watch that a client-go client reads from body.
func stream(body io.Reader) watch.Interface {
	info := Serializer().SupportedMediaTypes()[0]
	frames := info.StreamSerializer.Framer.NewFrameReader(io.NopCloser(body))
	decoder := restwatch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), info.Serializer)
	return watch.NewStreamWatcher(decoder, apierrors.NewClientErrorReporter(500, "GET", "ClientWatchDecoding"))
}

// text describes an event.
func text(e watch.Event) string {
	switch o := e.Object.(type) {
	case *Object:
		return fmt.Sprintf("%s %s@%s %v", e.Type, o.Key(), o.ResourceVersion(), o.GetObjectMeta().GetAnnotations())
	case *metav1.Status:
		return fmt.Sprintf("%s %s %d", e.Type, o.Reason, o.Code)
	}
	return fmt.Sprintf("%s %T", e.Type, e.Object)
}

func TestWatchFrames(t *testing.T) {
	long := strings.Repeat("x", 5000) // longer than client-go's initial buffer
	const added = `{"type":"ADDED","object":{"kind":"A","metadata":{"name":"a","resourceVersion":"5"}}}`
	for name, row := range map[string]struct {
		body string
		want []string
	}{
		"events": {
			added + "\n" + ` { "object" : {"kind":"A","metadata":{"namespace":"ns","name":"b","resourceVersion":"6"},"data":"` + long + `"} , "type" : "MODIFIED" }` + added,
			[]string{"ADDED /a@5 map[]", "MODIFIED ns/b@6 map[]", "ADDED /a@5 map[]"},
		},
		"an object with half a character is one all the same": {
			strings.Replace(added, `"name":"a"`, `"name":"a","labels":{"x":"\udc00"}`, 1) + strings.Replace(added, `"name":"a"`, "\"name\":\"b\",\"labels\":{\"x\":\"\xff\"}", 1),
			[]string{"ADDED /a@5 map[]", "ADDED /b@5 map[]"},
		},
		"a bookmark": {
			`{"type":"BOOKMARK","object":{"kind":"A","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}}`,
			[]string{"BOOKMARK /@7 map[k8s.io/initial-events-end:true]"},
		},
		"the server ends it": {
			added + `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}`,
			[]string{"ADDED /a@5 map[]", "ERROR Expired 410"},
		},
		"the connection is torn between events: the watch just ends": {added, []string{"ADDED /a@5 map[]"}},
		"or within one":                   {added + added[:40], []string{"ADDED /a@5 map[]"}},
		"what is no JSON is an error":     {added + "<html>", []string{"ADDED /a@5 map[]", "ERROR InternalError 500"}},
		"and so is another kind of frame": {`{"type":"NEWS","object":{}}`, []string{"ERROR InternalError 500"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for e := range stream(strings.NewReader(row.body)).ResultChan() {
				got = append(got, text(e))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// torn is a body that ends like a lost connection.
type torn struct{ io.Reader }

func (r torn) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func TestLostConnectionEndsWatchWithoutError(t *testing.T) {
	for e := range stream(torn{strings.NewReader(`{"type":"ADDED",`)}).ResultChan() {
		t.Errorf("the watch brings %s", text(e))
	}
}

func TestResponsesAreDecodedByKind(t *testing.T) {
	for name, row := range map[string]struct{ body, want string }{
		"an object":                      {`{"kind":"A","metadata":{"name":"a"}}`, "object a"},
		"a status":                       {`{"kind":"Status","apiVersion":"v1","reason":"Conflict","code":409}`, "status Conflict 409"},
		"somebody else's kind Status":    {`{"kind":"Status","apiVersion":"example.org/v1","metadata":{"name":"a"}}`, "object a"},
		"a list":                         {`{"kind":"AList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"next"},"items":[{"metadata":{"name":"a"}},{"kind":"B","apiVersion":"x/v1","metadata":{"name":"b"}},{}]}`, "list 9 next: v1 A a, x/v1 B b, v1 A "},
		"a list of nothing":              {`{"kind":"AList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":null}`, "list 9 :"},
		"an object that lists nothing":   {`{"kind":"Price","metadata":{"name":"a"},"items":null}`, "object a"},
		"a list with half a character":   {`{"kind":"AList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"a","labels":{"x":"\ud83d"}}},{"metadata":{"name":"b"}}]}`, "list 9 : v1 A a, v1 A b"},
		"an empty list":                  {`{"kind":"AList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[]}`, "list 9 :"},
		"a list that is named otherwise": {`{"kind":"Widgets","apiVersion":"x/v1","metadata":{"resourceVersion":"9"},"items":[{"kind":"Widget","apiVersion":"x/v1","metadata":{"name":"a"}}]}`, "list 9 : x/v1 Widget a"},
		"an object whose kind ends so":   {`{"kind":"PriceList","metadata":{"name":"a"},"items":[1]}`, "object a"},
	} {
		t.Run(name, func(t *testing.T) {
			o, _, err := serializer{}.Decode([]byte(row.body), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := answerText(o); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
	if _, _, err := (serializer{}).Decode([]byte("<html>"), nil, nil); err == nil {
		t.Error("an answer that is no JSON is taken")
	}
	if (serializer{}).Encode(nil, nil) == nil || (events{}).Encode(nil, nil) == nil {
		t.Error("something is encoded")
	}
	if _, _, err := (events{}).Decode([]byte("{}"), nil, &metav1.Status{}); err == nil {
		t.Error("a watch event is decoded into a Status")
	}
}

func answerText(o runtime.Object) string {
	switch o := o.(type) {
	case *Object:
		return "object " + o.Name()
	case *metav1.Status:
		return fmt.Sprintf("status %s %d", o.Reason, o.Code)
	case *List:
		var items []string
		for _, item := range o.DeepCopyObject().(*List).Items {
			i := item.DeepCopyObject().(*Object)
			items = append(items, " "+i.APIVersion()+" "+i.Kind()+" "+i.Name())
		}
		return fmt.Sprintf("list %s %s:%s", o.ResourceVersion, o.Continue, strings.Join(items, ","))
	}
	return fmt.Sprintf("%T", o)
}
