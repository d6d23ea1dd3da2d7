package reconciletest

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/controller"
)

// AsUser returns client, impersonating a user. set is called with the name of the user before each request, and with ""
// after it.
func AsUser(client controller.Client, name string, set func(user string)) controller.Client {
	return &asUser{client, name, set}
}

type asUser struct {
	client controller.Client
	name   string
	set    func(user string)
}

func (u *asUser) begin() controller.Client {
	u.set(u.name)
	return u.client
}

func (u *asUser) end() { u.set("") }

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

func (u *asUser) ReleaseFields(ctx context.Context, at request.Location, of request.Release) (*object.Object, error) {
	defer u.end()
	return u.begin().ReleaseFields(ctx, at, of)
}

func (u *asUser) Merge(ctx context.Context, at request.Location, patch map[string]any, manager string) (*object.Object, error) {
	defer u.end()
	return u.begin().Merge(ctx, at, patch, manager)
}

func (u *asUser) Each(ctx context.Context, resource schema.GroupVersionResource, namespace string, visit func(*object.Object)) error {
	defer u.end()
	return u.begin().Each(ctx, resource, namespace, visit)
}

func (u *asUser) EachMetadata(ctx context.Context, resource schema.GroupVersionResource, selector string, visit func(*object.Object)) error {
	defer u.end()
	return u.begin().EachMetadata(ctx, resource, selector, visit)
}

func (u *asUser) SetMetadata(ctx context.Context, at request.Location, m request.Metadata, manager string) (*object.Object, error) {
	defer u.end()
	return u.begin().SetMetadata(ctx, at, m, manager)
}

func (u *asUser) Allowed(ctx context.Context, right request.Permission) (bool, error) {
	defer u.end()
	return u.begin().Allowed(ctx, right)
}
