package permissions

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// reviewResult is the result of the access reviews for a claim, or of a lookup.
type reviewResult struct {
	known   bool
	pending bool     // there is no result yet, but there will be one soon
	missing []string // verbs
	// constrained is set for claims to impersonate a user: the operator is allowed to do so for some requests; missing
	// has the verbs of the others.
	constrained bool
	absent      bool // the object does not exist
}

// same reports whether two results are equal.
func (f reviewResult) same(other reviewResult) bool {
	return f.known == other.known && f.constrained == other.constrained && f.absent == other.absent && slices.Equal(f.missing, other.missing)
}

// ask sends one access review per verb, or a GET request for Use Existence.
func (t *Tracker) ask(ctx context.Context, c Requirement) (reviewResult, error) {
	if c.Use == Existence {
		absent, err := t.absent(ctx, c)
		return reviewResult{known: err == nil, absent: absent}, err
	}
	if !c.impersonation {
		missing, err := t.missing(ctx, c.As, c, "")
		return reviewResult{known: err == nil, missing: missing}, err
	}
	// Constrained impersonation (KEP-5284) requires one permission to impersonate the service account, and one per
	// verb. Without the former, the operator cannot impersonate it at all.
	if err := t.limit.Wait(ctx); err != nil {
		return reviewResult{}, err
	}
	namespace, name := spec.Account(c.As)
	constrained, err := t.as("").Allowed(ctx, request.Permission{
		Verb: "impersonate:serviceaccount", Namespace: namespace, Name: name,
		Resource: schema.GroupResource{Group: "authentication.k8s.io", Resource: "serviceaccounts"},
	})
	if err != nil || !constrained {
		return reviewResult{known: err == nil}, err
	}
	missing, err := t.missing(ctx, "", c, impersonationPrefix)
	return reviewResult{known: err == nil, missing: missing, constrained: true}, err
}

// impersonationPrefix is the prefix of the verbs of constrained impersonation.
const impersonationPrefix = "impersonate-on:serviceaccount:"

// missing returns the verbs of the claim, with prefix, that the user lacks.
func (t *Tracker) missing(ctx context.Context, user string, c Requirement, prefix string) ([]string, error) {
	var out []string
	for _, verb := range c.Use.Verbs() {
		if err := t.limit.Wait(ctx); err != nil {
			return nil, err
		}
		right := request.Permission{Verb: prefix + verb, Resource: c.Resource, Subresource: c.Use.Subresource(), Namespace: c.Namespace}
		allowed, err := t.as(user).Allowed(ctx, right)
		if err != nil {
			return nil, err
		}
		if !allowed {
			out = append(out, right.Verb)
		}
	}
	return out, nil
}

// A spec may refer to objects that do not exist. The API server accepts requests as a service account that does not
// exist, and LIST requests in a namespace that does not exist: it reports only missing permissions, or no objects. If a
// request fails, templater therefore checks in the background, with its own permissions, whether they exist.

var (
	serviceAccounts = schema.GroupResource{Resource: "serviceaccounts"}
	namespaces      = schema.GroupResource{Resource: "namespaces"}
)

// absent reports whether the object of a claim does not exist.
func (t *Tracker) absent(ctx context.Context, c Requirement) (bool, error) {
	if err := t.limit.Wait(ctx); err != nil {
		return false, err
	}
	_, err := t.as("").Get(ctx, request.Location{Resource: c.Resource.WithVersion("v1"), Namespace: c.Namespace, Name: c.Name})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}
