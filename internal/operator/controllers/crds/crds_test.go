package crds

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/crd"
)

const robot = "system:serviceaccount:ns:robot"

// world is a cluster with one TemplateController, and logs all requests.
type world struct {
	*testing.T

	server   *memserver.Server
	clock    *clocktesting.FakeClock
	writer   *Writer
	state    State
	tc       *v1.TemplateController
	refuse   map[string]error // by "VERB RESOURCE"
	requests []string
	again    time.Duration
}

var websites = schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "websites"}

func newWorld(t *testing.T, spec string) *world {
	w := &world{T: t, clock: clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0)), refuse: map[string]error{}}
	w.server = memserver.New(w.clock, func(schema.GroupResource) kind.Kind { return kind.Kind{} })
	w.server.Before = func(verb string, at request.Location) error {
		w.requests = append(w.requests, strings.TrimSpace(verb+" "+at.Resource.Resource+" "+strings.TrimSuffix(at.Name, ".example.org")))
		return w.refuse[verb+" "+at.Resource.Resource]
	}
	w.writer = &Writer{
		Cluster: func(as string) controller.Client {
			if as != "" && as != robot {
				t.Errorf("a request as %q", as)
			}
			return w.server
		},
		Definitions: func(gk schema.GroupKind) (found []*object.Object) {
			for at, o := range w.server.Objects {
				if at.Resource == crd.Resource && kind.Defined(memserver.Pack(t, o)) == gk {
					found = append(found, memserver.Pack(t, o))
				}
			}
			return found
		},
		Again: func(_ string, after time.Duration) { w.again = after },
	}
	w.tc = &v1.TemplateController{ObjectMeta: metav1.ObjectMeta{Name: "websites", Generation: 1}}
	w.edit(spec)
	return w
}

// edit replaces the spec.
func (w *world) edit(spec string) {
	w.Helper()
	w.tc.Generation++
	w.tc.Spec = v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "example.org/v1", Kind: "Website"}}
	if err := yaml.UnmarshalStrict([]byte(spec), &w.tc.Spec); err != nil {
		w.Fatal(err)
	}
}

// sync syncs twice, and expects the requests and the condition. The second time, there must be no request.
func (w *world) sync(condition string, requests ...string) {
	w.Helper()
	w.requests, w.again = nil, 0
	if err := w.writer.Sync(w.Context(), w.tc, robot, &w.state, w.clock.Now()); err != nil {
		w.Fatal(err)
	}
	if diff := cmp.Diff(requests, w.requests); diff != "" {
		w.Errorf("requests (-want +got):\n%s", diff)
	}
	got := ""
	if c := w.state.Condition; c != nil {
		got = string(c.Status) + " " + c.Reason + ": " + c.Message
	}
	if diff := cmp.Diff(condition, got); diff != "" {
		w.Errorf("condition (-want +got):\n%s", diff)
	}
}

// settle expects that syncing again reads the result of the last write, if any, and then sends no request.
func (w *world) settle() {
	w.Helper()
	w.establish()
	for range 2 {
		w.requests = nil
		if err := w.writer.Sync(w.Context(), w.tc, robot, &w.state, w.clock.Now()); err != nil {
			w.Fatal(err)
		}
	}
	if len(w.requests) > 0 {
		w.Errorf("requests without a change: %v", w.requests)
	}
}

func (w *world) at() request.Location {
	return request.Location{Resource: crd.Resource, Name: "websites.example.org"}
}

// change edits the CustomResourceDefinition as another user.
func (w *world) change(by func(o *unstructured.Unstructured)) {
	w.Helper()
	o := w.server.Objects[w.at()]
	if o == nil {
		w.Fatal("there is no CustomResourceDefinition")
	}
	o = o.DeepCopy()
	by(o)
	w.server.Store(w.at(), o)
}

// establish has the API server establish the CustomResourceDefinition.
func (w *world) establish() {
	w.Helper()
	w.change(func(o *unstructured.Unstructured) {
		o.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "NamesAccepted", "status": "True"}, map[string]any{"type": "Established", "status": "True"}}}
	})
}

// website stores a parent.
func (w *world) website(name, spec string) {
	o := memserver.Parse(w, "{apiVersion: example.org/v1, kind: Website, metadata: {namespace: ns, name: "+name+"}, spec: "+spec+"}")
	at := request.Location{Resource: websites, Namespace: "ns", Name: name}
	w.server.Store(at, o)
}

const (
	page        = "crd: {schema: {spec: {page: string}}}"
	established = "True Established: CustomResourceDefinition websites.example.org is established"
	notYet      = "False NotEstablished: the API server has not established CustomResourceDefinition websites.example.org yet"
)

// created returns a world with an established CustomResourceDefinition.
func created(t *testing.T, spec string) *world {
	t.Helper()
	w := newWorld(t, spec)
	w.sync(notYet, "get customresourcedefinitions websites", "create customresourcedefinitions websites")
	w.establish()
	w.sync(established, "get customresourcedefinitions websites")
	w.settle()
	return w
}

func TestWithoutCRDNothingHappens(t *testing.T) {
	w := newWorld(t, "{}")
	w.sync("")
}

func TestCreatedOnceAndRecreatedAfterDeletion(t *testing.T) {
	w := created(t, page)
	delete(w.server.Objects, w.at())
	w.sync(notYet, "get customresourcedefinitions websites", "create customresourcedefinitions websites")
	w.settle()
}

// TestRestartWritesNothing has an operator that was restarted, or an installation of another class that takes the TemplateController over.
func TestRestartWritesNothing(t *testing.T) {
	w := created(t, page)
	w.state = State{}
	w.sync(established, "get customresourcedefinitions websites")
	w.settle()
}

func TestCompatibleChangesAreApplied(t *testing.T) {
	w := created(t, page)
	w.website("one", "{page: hello}")
	for _, spec := range []string{
		"crd: {schema: {spec: {page: string, more: integer}}}",
		page, // nothing sets the field
		"crd: {schema: {spec: {page: string | required=true}}}",
	} {
		w.edit(spec)
		w.sync(established, "get customresourcedefinitions websites", "list websites everywhere", "patch customresourcedefinitions websites")
		w.settle()
	}
	w.edit("crd: {names: {shortNames: [ws]}, schema: {spec: {page: string | required=true}}}") // without a new schema, objects are not listed
	w.sync(established, "get customresourcedefinitions websites", "patch customresourcedefinitions websites")
	w.settle()
}

func TestEditsByOthersAreReverted(t *testing.T) {
	w := created(t, page)
	want := w.server.Objects[w.at()].Object["spec"]
	w.change(func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedStringSlice(o.Object, []string{"wrong"}, "spec", "names", "shortNames")
		_ = unstructured.SetNestedMap(o.Object, map[string]any{"conversionReviewVersions": []any{"v1"}}, "spec", "conversion", "webhook")
	})
	w.sync(established, "get customresourcedefinitions websites", "patch customresourcedefinitions websites")
	if diff := cmp.Diff(want, w.server.Objects[w.at()].Object["spec"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.settle()
}

// TestChangesByWebhooksAreReported has an API server that does not store what it is sent.
func TestChangesByWebhooksAreReported(t *testing.T) {
	w := newWorld(t, page)
	w.server.Admit = func(o *unstructured.Unstructured, _ string) {
		_ = unstructured.SetNestedStringSlice(o.Object, []string{"all"}, "spec", "names", "categories")
	}
	w.sync("False InvalidCRD: CustomResourceDefinition websites.example.org differs from spec.crd after the write: a mutating admission webhook or policy has probably changed it; exclude CustomResourceDefinitions from it, or set the same values in spec.crd",
		"get customresourcedefinitions websites", "create customresourcedefinitions websites")
	if w.again != RetryBreaking {
		t.Errorf("the next check is after %v", w.again)
	}
}

// TestUnservedCRDHasNoStoredObjects changes the schema of a CustomResourceDefinition that the API server has not established.
func TestUnservedCRDHasNoStoredObjects(t *testing.T) {
	w := newWorld(t, page)
	w.sync(notYet, "get customresourcedefinitions websites", "create customresourcedefinitions websites")
	w.refuse["list websites"] = &apierrors.StatusError{ErrStatus: metav1.Status{Code: 404, Reason: metav1.StatusReasonNotFound, Message: "the server could not find the requested resource"}}
	w.edit("crd: {schema: {spec: {page: integer}}}")
	requests := []string{"get customresourcedefinitions websites", "list websites everywhere"}
	w.sync(notYet, append(requests, "patch customresourcedefinitions websites")...)
	w.establish()
	w.edit(page)
	if err := w.writer.Sync(context.Background(), w.tc, robot, &w.state, w.clock.Now()); err == nil {
		t.Error("a change is applied although the objects of an established CustomResourceDefinition cannot be listed")
	}
}

// TestCRDOfAnotherKindIsRechecked has a CustomResourceDefinition of another kind, whose changes are not watched.
func TestCRDOfAnotherKindIsRechecked(t *testing.T) {
	w := created(t, page)
	w.change(func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, "Site", "spec", "names", "kind")
	})
	w.sync("False CRDNotOwned: CustomResourceDefinition websites.example.org defines kind Site: set spec.crd.names.plural to another name", "get customresourcedefinitions websites")
	if w.again != RetryRefused {
		t.Errorf("the next check is after %v", w.again)
	}
}

func TestAdoptionIsNotOfferedForAnotherKind(t *testing.T) {
	w := created(t, page)
	w.change(func(o *unstructured.Unstructured) {
		o.SetLabels(nil)
		_ = unstructured.SetNestedField(o.Object, "Site", "spec", "names", "kind")
	})
	w.sync("False CRDNotOwned: CustomResourceDefinition websites.example.org defines kind Site: set spec.crd.names.plural to another name", "get customresourcedefinitions websites")
}

// TestInheritedDefaultsAreStoredBeforeTheyChange has an object with a value that may not be stored: it may be the default of the schema.
func TestInheritedDefaultsAreStoredBeforeTheyChange(t *testing.T) {
	const withDefault = `crd: {schema: {spec: {page: "string | default=home required=true"}}}`
	requests := []string{"get customresourcedefinitions websites", "list websites everywhere"}
	for name, after := range map[string]string{
		"another default": `crd: {schema: {spec: {page: "string | default=start required=true"}}}`,
		"required":        `crd: {schema: {spec: {page: "string | required=true"}}}`,
		"optional":        `crd: {schema: {spec: {page: string}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := created(t, withDefault)
			w.website("one", "{page: home}")
			w.website("two", "{page: other}")
			w.edit(after)
			w.refuse["status websites"] = apierrors.NewForbidden(websites.GroupResource(), "", errors.New(`User "`+robot+`" cannot patch resource "websites/status" in API group "example.org" in the namespace "ns"`))
			w.sync("False Forbidden: the new schema is not applied, because it changes defaults, and "+robot+" is not allowed to store the previous ones in existing objects: grant {apiGroups: [example.org], resources: [websites/status], verbs: [patch]} in all namespaces", append(requests, "status websites one")...)
			clear(w.refuse)
			w.clock.Step(RetryRefused)
			w.sync(established, append(requests, "status websites one", "patch customresourcedefinitions websites")...)
			w.settle()
		})
	}
	t.Run("the same default", func(t *testing.T) {
		w := created(t, withDefault)
		w.website("one", "{page: home}")
		w.edit(`crd: {schema: {spec: {more: string, page: "string | default=home required=true"}}}`)
		w.sync(established, append(requests, "patch customresourcedefinitions websites")...)
	})
}

func TestBreakingChangesAreRefused(t *testing.T) {
	w := created(t, page)
	w.website("one", "{page: hello}")
	w.website("two", "{page: hello}")
	w.edit("crd: {schema: {spec: {page: integer}}}")
	const refused = "False BreakingChange: the new schema is not applied: it breaks 2 stored objects: spec.page does not match the type in the new schema (in 2 objects, for example ns/one); to apply it anyway, set spec.crd.allowBreaking: \""
	requests := []string{"get customresourcedefinitions websites", "list websites everywhere"}
	definition, _ := crd.Of("websites", &w.tc.Spec)
	hash := crd.Hash(definition)
	w.sync(refused+hash+`"`, requests...)
	w.sync(refused + hash + `"`)
	if w.again != RetryBreaking {
		t.Errorf("the next check is after %v", w.again)
	}
	w.clock.Step(RetryBreaking)
	w.sync(refused+hash+`"`, requests...)
	w.edit("crd: {allowBreaking: \"0123\", schema: {spec: {page: integer}}}")
	w.sync(refused+hash+`"`, requests...)
	w.edit("crd: {allowBreaking: \"" + hash + "\", schema: {spec: {page: integer}}}")
	w.sync(established, append(requests, "patch customresourcedefinitions websites")...)
	w.settle()
}

func TestChangeIsRefusedIfObjectsCannotBeListed(t *testing.T) {
	w := created(t, page)
	w.refuse["list websites"] = apierrors.NewForbidden(websites.GroupResource(), "", errors.New(`User "`+robot+`" cannot list resource "websites" in API group "example.org" at the cluster scope`))
	w.edit("crd: {schema: {spec: {page: string, more: string}}}")
	w.sync("False Forbidden: the new schema is not applied, because "+robot+" is not allowed to list all websites, and stored objects could become invalid: grant {apiGroups: [example.org], resources: [websites], verbs: [list]} in all namespaces",
		"get customresourcedefinitions websites", "list websites everywhere")
}

func TestFixedPropertiesCannotBeChanged(t *testing.T) {
	for spec, want := range map[string]string{
		"crd: {scope: Cluster, schema: {spec: {page: string}}}":                  "False BreakingChange: the scope of kind Website is Namespaced and cannot be changed: restore spec.crd.scope",
		"{watch: {apiVersion: example.org/v2, kind: Website}, " + page[0:] + "}": "False BreakingChange: CustomResourceDefinition websites.example.org has version v1, but spec.crd supports only the version in spec.watch.apiVersion, v2: restore spec.watch.apiVersion, or remove spec.crd and maintain the CustomResourceDefinition in a file",
	} {
		w := created(t, page)
		w.edit(spec)
		w.sync(want, "get customresourcedefinitions websites")
	}
	w := created(t, page)
	w.edit("crd: {names: {plural: sites}, schema: {spec: {page: string}}}")
	w.sync("False BreakingChange: the plural of kind Website is part of the name of CustomResourceDefinition websites.example.org and cannot be changed: restore spec.crd.names.plural")
}

func TestCRDsOfOthersAreLeftAlone(t *testing.T) {
	w := created(t, page)
	w.change(func(o *unstructured.Unstructured) { o.SetLabels(nil) })
	w.edit("crd: {schema: {spec: {page: string, more: string}}}")
	w.sync("False CRDNotOwned: CustomResourceDefinition websites.example.org was not created by templater: remove spec.crd, or let this TemplateController take it over: kubectl annotate crd websites.example.org templater.dev/adopt=websites",
		"get customresourcedefinitions websites")
	w.change(func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{v1.LabelController: "other"}) })
	w.sync("False CRDNotOwned: CustomResourceDefinition websites.example.org belongs to TemplateController other: remove spec.crd, or let this TemplateController take it over: kubectl annotate crd websites.example.org templater.dev/adopt=websites",
		"get customresourcedefinitions websites")
	w.change(func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{v1.AnnotationAdopt: "websites"})
	})
	w.sync(established, "get customresourcedefinitions websites", "list websites everywhere", "patch customresourcedefinitions websites")
	w.settle()
	w.edit("crd: {names: {plural: sites}, schema: {spec: {page: string}}}")
	w.change(func(o *unstructured.Unstructured) { o.SetLabels(nil) })
	w.sync("False CRDNotOwned: CustomResourceDefinition websites.example.org already defines kind Website: remove spec.crd, or set spec.crd.names.plural to its plural")
}

func TestUnwritableCRDsAreReported(t *testing.T) {
	w := newWorld(t, page)
	w.refuse["create customresourcedefinitions"] = apierrors.NewForbidden(crd.Resource.GroupResource(), "websites.example.org", errors.New(`User "`+robot+`" cannot create resource "customresourcedefinitions" in API group "apiextensions.k8s.io" at the cluster scope`))
	requests := []string{"get customresourcedefinitions websites", "create customresourcedefinitions websites"}
	w.sync("False Forbidden: "+robot+" is not allowed to create or update CustomResourceDefinitions: grant {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [create, patch]}", requests...)
	for _, after := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		if w.again != after*time.Second {
			t.Errorf("the next check is after %v, want %d s", w.again, after)
		}
		w.clock.Step(w.again)
		w.requests = nil
		if err := w.writer.Sync(context.Background(), w.tc, robot, &w.state, w.clock.Now()); err != nil {
			t.Fatal(err)
		}
	}
	w.refuse["create customresourcedefinitions"] = apierrors.NewInvalid(schema.GroupKind{Kind: "CustomResourceDefinition"}, "websites.example.org", nil)
	w.clock.Step(RetryRefused)
	w.sync(`False InvalidCRD: the API server rejects CustomResourceDefinition websites.example.org: CustomResourceDefinition "websites.example.org" is invalid`, requests...)
	if w.again != RetryBreaking {
		t.Errorf("the next check is after %v", w.again)
	}
	w.edit("crd: {schema: {spec: {page: strin}}}")
	w.sync(`False InvalidCRD: spec.crd.schema.spec.page: Invalid value: unknown type "strin"; did you mean string?`)
	w.refuse["create customresourcedefinitions"] = errors.New("the connection is lost")
	w.edit(page)
	if err := w.writer.Sync(context.Background(), w.tc, robot, &w.state, w.clock.Now()); err == nil || !strings.Contains(err.Error(), "the connection is lost") {
		t.Error(err)
	}
}

func TestSuspendedCRDsAreNotWritten(t *testing.T) {
	w := newWorld(t, "{suspend: true, "+page+"}")
	w.sync("False Suspended: spec.suspend is true: CustomResourceDefinition websites.example.org is not created", "get customresourcedefinitions websites")
	w = created(t, page)
	w.edit("{suspend: true, crd: {schema: {spec: {page: integer}}}}")
	w.sync("False Suspended: spec.suspend is true: changes to spec.crd are not applied to CustomResourceDefinition websites.example.org", "get customresourcedefinitions websites")
	w.edit("{suspend: true, " + page + "}")
	w.sync(established, "get customresourcedefinitions websites")
}

func TestStateOfTheCRDIsReported(t *testing.T) {
	w := created(t, page)
	w.change(func(o *unstructured.Unstructured) {
		o.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "NamesAccepted", "status": "False", "message": "\"ws\" is already in use"}}}
	})
	w.sync(`False NamesNotAccepted: the API server does not accept the names of CustomResourceDefinition websites.example.org: "ws" is already in use: change spec.crd.names`, "get customresourcedefinitions websites")
	w.change(func(o *unstructured.Unstructured) {
		now := metav1.NewTime(w.clock.Now())
		o.SetDeletionTimestamp(&now)
		o.SetFinalizers([]string{"customresourcecleanup.apiextensions.k8s.io"})
	})
	w.sync("False CRDTerminating: CustomResourceDefinition websites.example.org is being deleted: templater recreates it once it is gone", "get customresourcedefinitions websites")
}
