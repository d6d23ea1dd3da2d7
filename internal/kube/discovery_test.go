package kube

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
)

// metrics is the discovery state of an aggregated API server.
type metrics struct {
	freshness string
	resources string // resources of the aggregated discovery response
	more      string // further versions of the group
	legacy    bool   // whether the server does not support aggregated discovery
	status    int    // status code of the unaggregated resource list
	gone      bool   // whether the group does not exist
}

const metricResource = `{"resource":"metrics","responseKind":{"group":"metrics.example.org","version":"v1","kind":"Metric"},"scope":"Namespaced","verbs":["list"]}`

// discoveryServer responds to discovery requests according to the current state of m.
func discoveryServer(t *testing.T, m *metrics) *Discovery {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.legacy {
			m.serveLegacy(w, r)
			return
		}
		groups := ""
		if r.URL.Path == "/api" {
			groups = `{"metadata":{"name":""},"versions":[{"version":"v1","freshness":"Current","resources":[
				{"resource":"pods","responseKind":{"group":"","version":"v1","kind":"Pod"},"scope":"Namespaced","verbs":["list"]}]}]}`
		}
		if r.URL.Path == "/apis" && !m.gone {
			groups = `{"metadata":{"name":"metrics.example.org"},"versions":[{"version":"v1","freshness":"` + m.freshness + `","resources":[` + m.resources + `]}` + m.more + `]}`
		}
		w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		_, _ = w.Write([]byte(`{"apiVersion":"apidiscovery.k8s.io/v2","kind":"APIGroupDiscoveryList","items":[` + groups + `]}`))
	}))
	t.Cleanup(server.Close)
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return NewDiscovery(client)
}

func (m *metrics) serveLegacy(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/api":
		_, _ = w.Write([]byte(`{"kind":"APIVersions","versions":["v1"]}`))
	case "/api/v1":
		_, _ = w.Write([]byte(`{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","kind":"Pod","namespaced":true,"verbs":["list"]}]}`))
	case "/apis":
		_, _ = w.Write([]byte(`{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"metrics.example.org","versions":[{"groupVersion":"metrics.example.org/v1","version":"v1"}]}]}`))
	default:
		w.WriteHeader(m.status)
		_, _ = w.Write([]byte(`{"kind":"APIResourceList","groupVersion":"metrics.example.org/v1","resources":[{"name":"metrics","kind":"Metric","namespaced":true,"verbs":["list"]}]}`))
	}
}

// noDefinitions represents a server without custom kinds.
type noDefinitions struct{}

func (noDefinitions) Definitions(schema.GroupKind) []*object.Object { return nil }
func (noDefinitions) EverDefined(schema.GroupKind) bool             { return false }

func TestUnavailableAPIServiceDoesNotRemoveKind(t *testing.T) {
	metric := schema.GroupVersionKind{Group: "metrics.example.org", Version: "v1", Kind: "Metric"}
	other := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Other"}
	for why, away := range map[string]metrics{
		"it does not answer":                          {freshness: "Stale", resources: metricResource},
		"it has just begun, and has no kinds":         {freshness: "Current"},
		"it does not answer, in the old form":         {legacy: true, status: http.StatusServiceUnavailable},
		"it is being replaced, and is not registered": {gone: true},
	} {
		t.Run(why, func(t *testing.T) {
			there := metrics{freshness: "Current", resources: metricResource, legacy: away.legacy, status: http.StatusOK}
			now, is := time.Now(), there
			server := discoveryServer(t, &is)
			kinds := kind.NewResolver(noDefinitions{}, server, func() time.Time { return now })
			look := func(of *kind.Resolver, gvk schema.GroupVersionKind) (kind.Kind, *kind.NotFoundError, error) {
				now = now.Add(time.Minute)
				server.Reset()
				found, err := of.Resolve(gvk)
				var missing *kind.NotFoundError
				errors.As(err, &missing)
				return found, missing, err
			}
			if found, _, err := look(kinds, metric); err != nil || found.Resource.Resource != "metrics" {
				t.Fatalf("kind %+v, err %v, want metrics", found, err)
			}
			is = away
			if _, missing, err := look(kinds, metric); err == nil || missing != nil && missing.Gone() {
				t.Errorf("err = %v, want one that does not say that there are no objects", err)
			}
			if _, missing, err := look(kinds, other); missing == nil || !missing.Gone() {
				t.Errorf("a kind of another group: err = %v, want it missing", err)
			}
			server = discoveryServer(t, &is)
			fresh := kind.NewResolver(noDefinitions{}, server, time.Now)
			if _, missing, err := look(fresh, metric); err == nil || (missing != nil) != away.gone {
				t.Errorf("after a restart: err = %v, want it missing: %v", err, away.gone)
			}
			is = there
			if _, _, err := look(kinds, metric); err != nil {
				t.Errorf("it is back: err = %v", err)
			}
		})
	}
}

// TestInvalidatedDiscoveryFindsRemovedVersion upgrades an API server that no longer serves a version of a built-in kind.
func TestInvalidatedDiscoveryFindsRemovedVersion(t *testing.T) {
	old := schema.GroupVersionKind{Group: "batch", Version: "v1beta1", Kind: "CronJob"}
	served := "v1beta1"
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		groups := ""
		if r.URL.Path == "/apis" {
			groups = `{"metadata":{"name":"batch"},"versions":[{"version":"` + served + `","freshness":"Current","resources":[
				{"resource":"cronjobs","responseKind":{"group":"batch","version":"` + served + `","kind":"CronJob"},"scope":"Namespaced","verbs":["list"]}]}]}`
		}
		w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		_, _ = w.Write([]byte(`{"apiVersion":"apidiscovery.k8s.io/v2","kind":"APIGroupDiscoveryList","items":[` + groups + `]}`))
	}))
	t.Cleanup(server.Close)
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	kinds := kind.NewResolver(noDefinitions{}, NewDiscovery(client), time.Now)
	found, err := kinds.Resolve(old)
	if err != nil || found.Resource != old.GroupVersion().WithResource("cronjobs") {
		t.Fatalf("kind %+v, err %v, want cronjobs of v1beta1", found, err)
	}
	served = "v1"
	before := asked
	if _, err := kinds.Resolve(old); err != nil || asked > before {
		t.Fatalf("without doubt: err = %v after %d requests, want the kind as it was, without a request", err, asked-before)
	}
	if !kinds.Doubt(found.Resource) {
		t.Fatal("discovery was not asked again")
	}
	var missing *kind.NotFoundError
	if _, err := kinds.Resolve(old); !errors.As(err, &missing) || missing.Served != "v1" {
		t.Errorf("err = %v, want that the kind is served in v1", err)
	}
	if found, err := kinds.Resolve(old.GroupKind().WithVersion("v1")); err != nil || found.Resource.Version != "v1" {
		t.Errorf("kind %+v, err %v, want that of v1", found, err)
	}
}

// broken is a discovery client whose error does not list the failed groups.
type broken struct {
	discovery.CachedDiscoveryInterface
}

var errBroken = errors.New("no answer")

func (broken) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return nil, nil, errBroken
}

func TestKindIsMissingOnlyIfAllGroupsAreDiscovered(t *testing.T) {
	gk := schema.GroupKind{Group: "metrics.example.org", Kind: "Other"}
	d := discoveryServer(t, &metrics{freshness: "Current", resources: metricResource})
	if _, err := d.RESTMapping(gk, "v1"); !meta.IsNoMatchError(err) {
		t.Errorf("err = %v, want a NoMatch", err)
	}
	halfAway := discoveryServer(t, &metrics{freshness: "Current", resources: metricResource, more: `,{"version":"v2","freshness":"Stale"}`})
	if _, err := halfAway.RESTMapping(gk, "v2"); err == nil || meta.IsNoMatchError(err) {
		t.Errorf("one version of the group does not answer: err = %v, want that", err)
	}
	d.cached = broken{d.cached}
	if _, err := d.RESTMapping(gk, "v1"); !errors.Is(err, errBroken) {
		t.Errorf("err = %v, want that of discovery", err)
	}
}

func TestNamesKindsIgnoresOtherGroups(t *testing.T) {
	group := &metav1.APIGroup{Name: "a", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "a/v1"}}}
	list := func(version string, kinds ...metav1.APIResource) []*metav1.APIResourceList {
		return []*metav1.APIResourceList{{GroupVersion: version, APIResources: kinds}}
	}
	for why, row := range map[string]struct {
		lists []*metav1.APIResourceList
		want  bool
	}{
		"a kind of the group":    {list("a/v1", metav1.APIResource{Kind: "A"}), true},
		"no kind of the group":   {list("a/v1"), false},
		"a kind of another one":  {list("b/v1", metav1.APIResource{Kind: "B"}), false},
		"no kind of another one": {list("b/v1"), false},
	} {
		if got := hasResources(group, row.lists); got != row.want {
			t.Errorf("%s: %v, want %v", why, got, row.want)
		}
	}
}
