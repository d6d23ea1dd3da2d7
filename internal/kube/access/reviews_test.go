package access

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
)

// reviewer is an API server for reviews. It knows one token, and allows requests according to may.
type reviewer struct {
	t      *testing.T
	refuse string // the resource that templater is not allowed to create
	broken string // the resource whose requests fail
	status authorizationv1.SubjectAccessReviewStatus
	asked  []authorizationv1.SubjectAccessReviewSpec
}

func (s *reviewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch resource {
	case s.refuse:
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`))
		return
	case s.broken:
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	var answer any
	switch resource {
	case "tokenreviews":
		var review authenticationv1.TokenReview
		s.read(r, &review)
		if review.Spec.Token == "reader" {
			review.Status.Authenticated = true
			review.Status.User = authenticationv1.UserInfo{Username: "prometheus", UID: "u", Groups: []string{"scrapers"}, Extra: map[string]authenticationv1.ExtraValue{"pod": {"p-0"}}}
		} else {
			review.Status.Error = "[invalid bearer token]"
		}
		answer = review
	case "subjectaccessreviews":
		var review authorizationv1.SubjectAccessReview
		s.read(r, &review)
		s.asked = append(s.asked, review.Spec)
		review.Status = s.status
		answer = review
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.t.Error(err)
	}
}

func (s *reviewer) read(r *http.Request, into any) {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		s.t.Error(err)
	}
}

func TestReviewVerdicts(t *testing.T) {
	for why, row := range map[string]struct {
		token string
		reviewer
		want  verdict
		fault string
	}{
		"who may":            {"reader", reviewer{status: authorizationv1.SubjectAccessReviewStatus{Allowed: true}}, allowed, ""},
		"who may not":        {"reader", reviewer{}, forbidden, ""},
		"a denial is a no":   {"reader", reviewer{status: authorizationv1.SubjectAccessReviewStatus{Allowed: true, Denied: true}}, forbidden, ""},
		"nobody's token":     {"made-up", reviewer{}, unknown, ""},
		"a right is missing": {"reader", reviewer{refuse: "tokenreviews"}, unknown, "grant templater the verb create on tokenreviews.authentication.k8s.io, as config/components/secure-metrics does: "},
		"the other right":    {"reader", reviewer{refuse: "subjectaccessreviews"}, unknown, "grant templater the verb create on subjectaccessreviews.authorization.k8s.io, as config/components/secure-metrics does: "},
		"the server fails":   {"reader", reviewer{broken: "tokenreviews"}, unknown, "create tokenreviews.authentication.k8s.io: "},
		"it fails later":     {"reader", reviewer{broken: "subjectaccessreviews"}, unknown, "create subjectaccessreviews.authorization.k8s.io: "},
	} {
		t.Run(why, func(t *testing.T) {
			s := row.reviewer
			s.t = t
			web := httptest.NewServer(&s)
			defer web.Close()
			g, err := New(&rest.Config{Host: web.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := g.server.ask(t.Context(), row.token, "get", "/metrics")
			if got != row.want || (err != nil) != (row.fault != "") || err != nil && !strings.HasPrefix(err.Error(), row.fault) {
				t.Errorf("got %d and error %v, want %d and %q", got, err, row.want, row.fault)
			}
			if err != nil && strings.Contains(err.Error(), row.token) {
				t.Errorf("the error holds the token: %v", err)
			}
			want := authorizationv1.SubjectAccessReviewSpec{
				User: "prometheus", UID: "u", Groups: []string{"scrapers"}, Extra: map[string]authorizationv1.ExtraValue{"pod": {"p-0"}},
				NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
			}
			for _, asked := range s.asked {
				if diff := cmp.Diff(want, asked); diff != "" {
					t.Errorf("the SubjectAccessReview (-want +got):\n%s", diff)
				}
			}
			if row.want != unknown && len(s.asked) != 1 {
				t.Errorf("%d SubjectAccessReviews, want one", len(s.asked))
			}
		})
	}
}

func TestNewRejectsInvalidConfig(t *testing.T) {
	if _, err := New(&rest.Config{Host: "http://[::1"}); err == nil || !strings.HasPrefix(err.Error(), "create a client for tokenreviews: ") {
		t.Errorf("error %v", err)
	}
}
