package access

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// New returns a Guard that uses the API server of config. It needs permission to create tokenreviews and subjectaccessreviews. It
// returns an error if config is invalid.
func New(config *rest.Config) (*Guard, error) {
	tokens, err := authenticationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for tokenreviews: %w", err)
	}
	rights, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for subjectaccessreviews: %w", err)
	}
	return newGuard(&reviews{tokens.TokenReviews(), rights.SubjectAccessReviews()}, clock.RealClock{}), nil
}

// reviews is an asker that uses TokenReview and SubjectAccessReview.
type reviews struct {
	tokens authenticationclient.TokenReviewInterface
	rights authorizationclient.SubjectAccessReviewInterface
}

func (r *reviews) ask(ctx context.Context, token, verb, path string) (verdict, error) {
	who, err := r.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return unknown, failure("tokenreviews.authentication.k8s.io", err)
	}
	if !who.Status.Authenticated {
		return unknown, nil
	}
	user := who.Status.User
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	may, err := r.rights.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: verb, Path: path},
	}}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return unknown, failure("subjectaccessreviews.authorization.k8s.io", err)
	case may.Status.Allowed && !may.Status.Denied:
		return allowed, nil
	}
	return forbidden, nil
}

// failure wraps the error of a review with advice.
func failure(resource string, err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("grant templater the verb create on %s, as config/components/secure-metrics does: %w", resource, err)
	}
	return fmt.Errorf("create %s: %w", resource, err)
}
