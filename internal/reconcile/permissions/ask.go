package permissions

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// finding is what the server says of a claim.
type finding struct {
	known   bool
	pending bool     // nothing is known yet, but will be soon
	missing []string // verbs
	// constrained is, where the claim is about acting as a user, whether the operator may do so for
	// some requests; missing has the verbs of the others.
	constrained bool
	absent      bool // the object is not there
}

// same reports whether two findings say the same.
func (f finding) same(other finding) bool {
	return f.known == other.known && f.constrained == other.constrained && f.absent == other.absent && slices.Equal(f.missing, other.missing)
}

// ask asks the server, one question for each verb.
func (t *Tracker) ask(ctx context.Context, c Claim) (finding, error) {
	if c.Use == Existence {
		absent, err := t.absent(ctx, c)
		return finding{known: err == nil, absent: absent}, err
	}
	if !c.acting {
		missing, err := t.missing(ctx, c.As, c, "")
		return finding{known: err == nil, missing: missing}, err
	}
	// Constrained impersonation (KEP-5284) requires one permission to impersonate the account, and one for each
	// verb; without the first, it is impersonation as such that is missing.
	if err := t.limit.Wait(ctx); err != nil {
		return finding{}, err
	}
	namespace, name := spec.Account(c.As)
	constrained, err := t.as("").Allowed(ctx, request.Right{
		Verb: "impersonate:serviceaccount", Namespace: namespace, Name: name,
		Resource: schema.GroupResource{Group: "authentication.k8s.io", Resource: "serviceaccounts"},
	})
	if err != nil || !constrained {
		return finding{known: err == nil}, err
	}
	missing, err := t.missing(ctx, "", c, actingPrefix)
	return finding{known: err == nil, missing: missing, constrained: true}, err
}

// actingPrefix begins the verbs of constrained impersonation.
const actingPrefix = "impersonate-on:serviceaccount:"

// missing returns which of the claim's verbs, with the prefix, the user lacks.
func (t *Tracker) missing(ctx context.Context, user string, c Claim, prefix string) ([]string, error) {
	var out []string
	for _, verb := range c.Use.Verbs() {
		if err := t.limit.Wait(ctx); err != nil {
			return nil, err
		}
		right := request.Right{Verb: prefix + verb, Resource: c.Resource, Subresource: c.Use.Subresource(), Namespace: c.Namespace}
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

// A spec may name things that do not exist: the server accepts requests as a service account that does not exist, and lists in a
// namespace that does not exist. In both cases it reports only missing permissions, or no objects. So templater checks,
// if there is reason to, in the background and with its own permissions.

var (
	serviceAccounts = schema.GroupResource{Resource: "serviceaccounts"}
	namespaces      = schema.GroupResource{Resource: "namespaces"}
)

// absent asks the server whether the object of a claim is not there.
func (t *Tracker) absent(ctx context.Context, c Claim) (bool, error) {
	if err := t.limit.Wait(ctx); err != nil {
		return false, err
	}
	_, err := t.as("").Get(ctx, request.Location{Resource: c.Resource.WithVersion("v1"), Namespace: c.Namespace, Name: c.Name})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}
