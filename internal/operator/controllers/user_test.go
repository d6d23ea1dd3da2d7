package controllers

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// as returns the cluster as that user sees it; its requests begin with the name of the
// account.
func (c *cluster) as(user string) running.Client {
	if user == "" {
		return c
	}
	return &asUser{c, strings.TrimPrefix(user, spec.AccountPrefix)}
}

// asUser makes requests as a user.
type asUser struct {
	cluster *cluster
	name    string
}

func (u *asUser) begin() *cluster {
	u.cluster.user = u.name
	return u.cluster
}

func (u *asUser) end() { u.cluster.user = "" }

func (u *asUser) Get(ctx context.Context, at request.Location) (*object.Object, error) {
	defer u.end()
	return u.begin().Get(ctx, at)
}

func (u *asUser) GetDated(ctx context.Context, at request.Location) (*object.Object, time.Time, error) {
	defer u.end()
	return u.begin().GetDated(ctx, at)
}

func (u *asUser) Selected(ctx context.Context, at request.Location, labels, fields string) (bool, error) {
	defer u.end()
	return u.begin().Selected(ctx, at, labels, fields)
}

func (u *asUser) Apply(ctx context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
	defer u.end()
	return u.begin().Apply(ctx, at, body, manager)
}

func (u *asUser) ApplyStatus(ctx context.Context, at request.Location, body []byte, manager string, force bool) (*object.Object, error) {
	defer u.end()
	return u.begin().ApplyStatus(ctx, at, body, manager, force)
}

func (u *asUser) Delete(ctx context.Context, at request.Location, d request.Deletion) error {
	defer u.end()
	return u.begin().Delete(ctx, at, d)
}

func (u *asUser) SetFinalizers(ctx context.Context, at request.Location, version string, finalizers []string) (*object.Object, error) {
	defer u.end()
	return u.begin().SetFinalizers(ctx, at, version, finalizers)
}

func (u *asUser) Holders(ctx context.Context, resource schema.GroupVersionResource, namespace, finalizer string) ([]request.Holder, error) {
	defer u.end()
	return u.begin().Holders(ctx, resource, namespace, finalizer)
}

func (u *asUser) SetMetadata(ctx context.Context, at request.Location, m request.Metadata, manager string) (*object.Object, error) {
	defer u.end()
	return u.begin().SetMetadata(ctx, at, m, manager)
}

func (u *asUser) Allowed(ctx context.Context, right request.Right) (bool, error) {
	defer u.end()
	return u.begin().Allowed(ctx, right)
}

// Allowed answers as lacks says. What it was asked is not among the requests.
func (c *cluster) Allowed(_ context.Context, right request.Right) (bool, error) {
	resource := right.Resource.Resource
	if right.Subresource != "" {
		resource += "/" + right.Subresource
	}
	text := strings.TrimSpace(strings.Join([]string{c.user, right.Verb, resource, right.Namespace}, " "))
	c.asked = append(c.asked, text)
	return !c.lacks[text], c.refuse["ask "+text]
}
