package operator

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/seal"
)

// sealServer is an API server with at most one Secret.
type sealServer struct {
	mu       sync.Mutex
	secret   *object.Object
	strict   bool             // the version must match the Secret
	refuse   map[string]error // by resource; only the first request of each fails
	requests []string
}

func (s *sealServer) Apply(_ context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, at.Resource.Resource)
	if err := s.refuse[at.Resource.Resource]; err != nil {
		delete(s.refuse, at.Resource.Resource)
		return nil, err
	}
	var content map[string]any
	if err := json.Unmarshal(body, &content); err != nil {
		panic(err)
	}
	metadata := content["metadata"].(map[string]any)
	there := "1"
	if s.secret != nil && at.Resource == secretsResource {
		there = s.secret.ResourceVersion()
	}
	if version := metadata["resourceVersion"]; at.Resource == secretsResource && version != there && s.strict {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonConflict, Code: 409}}
	}
	metadata["resourceVersion"] = "7"
	metadata["managedFields"] = []any{map[string]any{"manager": manager, "operation": "Apply", "time": "2026-01-01T00:00:00Z", "fieldsV1": map[string]any{}}}
	o, err := object.From(content)
	if err == nil && at.Resource == secretsResource {
		s.secret = o
	}
	return o, err
}

// keeping starts a sealKeyManager that leads, for a server with that Secret, and returns its log.
func keeping(t *testing.T, s *sealServer, k *sealKeyManager, secret *object.Object) (ready chan struct{}, log func() string) {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	ctx := klog.NewContext(t.Context(), funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, args)
	}, funcr.Options{}))
	k.Ring, k.Namespace, k.Writer, k.Changed = &seal.Ring{}, "ns", s, func() {}
	newSealKeyManager(k)
	k.Take(ctx, secret)
	ready = make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { k.Keep(ctx, func() { close(ready) }) })
	t.Cleanup(func() { cancel(); done.Wait() })
	return ready, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(lines, "\n")
	}
}

// dataOf returns the data of a Secret with keys of these numbers, which are the same each time.
func dataOf(ids ...string) map[string]any {
	data := map[string]any{}
	for _, id := range ids {
		data[id] = base64.StdEncoding.EncodeToString([]byte(strings.Repeat(id[:1], 32)))
	}
	return data
}

// holds reports whether keys are exactly those of dataOf.
func holds(t *testing.T, keys *seal.Keys, ids ...string) bool {
	t.Helper()
	want, err := seal.Parse(dataOf(ids...), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return sameKeys(keys, want)
}

func sameKeys(a, b *seal.Keys) bool {
	x, y := a.Data(), b.Data()
	delete(x, "since")
	delete(y, "since")
	return a.Since.Equal(b.Since) && cmp.Equal(x, y)
}

func waitFor(t *testing.T, c chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Fatal("it takes too long")
	}
}

func secretOf(t *testing.T, version string, data map[string]any) *object.Object {
	t.Helper()
	o, err := object.From(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "ns", "name": sealSecret, "resourceVersion": version}, "data": data})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestLeaderCreatesSealKeyOnce(t *testing.T) {
	for why, secret := range map[string]*object.Object{"there is no Secret": nil, "it is empty": secretOf(t, "5", nil)} {
		s := &sealServer{}
		k := &sealKeyManager{}
		ready, log := keeping(t, s, k, secret)
		waitFor(t, ready)
		keys := k.Ring.Keys()
		if len(keys.IDs()) != 1 || keys.Since.Format(time.RFC3339) != "2026-01-01T00:00:00Z" && !keys.Since.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%s: keys %v since %v", why, keys.IDs(), keys.Since)
		}
		data := s.secret.Content()["data"].(map[string]any)
		for _, value := range data {
			if strings.Contains(log(), value.(string)) {
				t.Errorf("%s: the log contains the key:\n%s", why, log())
			}
		}
		// Another replica reads the Secret that the first one created, and so does the first one.
		other := &sealKeyManager{Ring: &seal.Ring{}, Changed: func() {}}
		newSealKeyManager(other).Take(t.Context(), s.secret)
		k.Take(t.Context(), s.secret)
		if !sameKeys(other.Ring.Keys(), k.Ring.Keys()) || k.Ring.Round() != 1 {
			t.Errorf("%s: two replicas have different keys, or the second look changed them", why)
		}
		if !slices.Equal(s.requests, []string{"secrets"}) {
			t.Errorf("%s: requests %v", why, s.requests)
		}
	}
}

func TestExistingSealKeyIsUsed(t *testing.T) {
	s := &sealServer{}
	k := &sealKeyManager{}
	ready, _ := keeping(t, s, k, secretOf(t, "5", dataOf("5")))
	waitFor(t, ready)
	if len(s.requests) > 0 || !holds(t, k.Ring.Keys(), "5") {
		t.Errorf("requests %v, keys %v", s.requests, k.Ring.Keys().IDs())
	}
}

func TestEmptiedSealSecretIsRestored(t *testing.T) {
	s := &sealServer{}
	k := &sealKeyManager{}
	ready, _ := keeping(t, s, k, secretOf(t, "5", dataOf("5", "6")))
	waitFor(t, ready)
	back := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.secret != nil
	}
	for _, lost := range []*object.Object{nil, secretOf(t, "6", nil)} {
		s.mu.Lock()
		s.secret = nil
		s.mu.Unlock()
		k.Take(t.Context(), lost)
		for end := time.Now().Add(20 * time.Second); !back(); {
			if time.Now().After(end) {
				t.Fatal("it does not come back")
			}
			<-time.After(time.Millisecond)
		}
		keys, err := seal.Parse(s.secret.Content()["data"].(map[string]any), time.Time{})
		if err != nil || !holds(t, keys, "5", "6") {
			t.Errorf("got %v %v", keys, err)
		}
	}
}

func TestInvalidSealSecretIsIgnored(t *testing.T) {
	s := &sealServer{}
	k := &sealKeyManager{}
	ready, log := keeping(t, s, k, secretOf(t, "5", dataOf("5")))
	waitFor(t, ready)
	k.Take(t.Context(), secretOf(t, "6", map[string]any{"5": "c2hvcnQ="}))
	if !holds(t, k.Ring.Keys(), "5") || len(s.requests) > 0 {
		t.Errorf("keys %v, requests %v", k.Ring.Keys().IDs(), s.requests)
	}
	if strings.Contains(log(), "c2hvcnQ") {
		t.Errorf("the log quotes the Secret:\n%s", log())
	}
}

func TestSealKeyWriteErrorIsReported(t *testing.T) {
	noNamespace := apierrors.NewNotFound(namespacesResource.GroupResource(), "ns")
	noNamespace.ErrStatus.Details.Kind = "namespaces"
	forbidden := apierrors.NewForbidden(secretsResource.GroupResource(), sealSecret, errors.New("c2VjcmV0"))
	for why, row := range map[string]struct {
		outside  bool
		refuse   map[string]error
		want     string
		requests []string
	}{
		"outside of the cluster a namespace is made": {true, map[string]error{"secrets": noNamespace}, "", []string{"secrets", "namespaces", "secrets"}},
		"within, or where it was given, it is not":   {false, map[string]error{"secrets": noNamespace}, "namespace ns does not exist: create it, or set another --seal-namespace", []string{"secrets", "secrets"}},
		"where that is forbidden, a flag helps":      {true, map[string]error{"secrets": noNamespace, "namespaces": forbidden}, "no permission to create or patch Secret ns/templater-seal, or its namespace", []string{"secrets", "namespaces", "secrets"}},
		"a right is missing":                         {false, map[string]error{"secrets": forbidden}, "kubectl apply -k config/default grants it", []string{"secrets", "secrets"}},
		"the server refuses it":                      {false, map[string]error{"secrets": apierrors.NewInternalError(errors.New("c2VjcmV0"))}, "the API server returned 500", []string{"secrets", "secrets"}},
		"the server does not answer":                 {false, map[string]error{"secrets": errors.New("c2VjcmV0")}, "the API server does not respond", []string{"secrets", "secrets"}},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			s := &sealServer{refuse: row.refuse}
			ready, log := keeping(t, s, &sealKeyManager{Outside: row.outside}, nil)
			waitFor(t, ready)
			if !strings.Contains(log(), row.want) || strings.Contains(log(), "c2VjcmV0") {
				t.Errorf("log:\n%s\nwant %q", log(), row.want)
			}
			if !slices.Equal(s.requests, row.requests) {
				t.Errorf("requests %v, want %v", s.requests, row.requests)
			}
		})
	}
}

// Another replica has created the key, and the watch will deliver it soon.
func TestSealSecretConflictWaitsForWatch(t *testing.T) {
	s := &sealServer{strict: true, secret: secretOf(t, "6", dataOf("6"))}
	k := &sealKeyManager{}
	ready, _ := keeping(t, s, k, nil)
	k.Take(t.Context(), s.secret)
	waitFor(t, ready)
	if !holds(t, k.Ring.Keys(), "6") {
		t.Errorf("keys %v, want those of the other one", k.Ring.Keys().IDs())
	}
}
