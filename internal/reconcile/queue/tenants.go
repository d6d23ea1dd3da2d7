package queue

import (
	"sync"

	v1 "github.com/templater-dev/templater/api/v1"
)

// Tenants maps TemplateControllers to tenants. TemplateControllers whose service accounts are in the same namespace are
// one tenant, because the owner of a namespace can create any number of service accounts. A TemplateController without
// a service account is its own tenant. It is safe for concurrent use.
type Tenants struct {
	mu sync.RWMutex
	of map[string]string // by controller
}

// NamespaceTenant is the prefix of a tenant that is a namespace of service accounts. No controller name begins with it.
const NamespaceTenant = "namespace:"

// NewTenants returns empty Tenants.
func NewTenants() *Tenants { return &Tenants{of: map[string]string{}} }

// Set sets the service account of a controller; nil means none.
func (t *Tenants) Set(controller string, account *v1.ServiceAccountRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[controller] = TenantOf(controller, account)
}

// TenantOf returns the tenant of a controller with that service account; nil means none.
func TenantOf(controller string, account *v1.ServiceAccountRef) string {
	if namespace, _ := v1.SplitKey(controller); namespace != "" {
		return NamespaceTenant + namespace
	}
	if account == nil {
		return controller
	}
	return NamespaceTenant + account.Namespace
}

// Of returns the tenant of a controller, and whether it is known. An unknown controller is its own tenant.
func (t *Tenants) Of(controller string) (string, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if tenant, ok := t.of[controller]; ok {
		return tenant, true
	}
	return TenantOf(controller, nil), false
}

// Name returns the tenant of a controller, or the controller's name if it is unknown.
func (t *Tenants) Name(controller string) string {
	tenant, _ := t.Of(controller)
	return tenant
}

// ForgetController drops a deleted TemplateController.
func (t *Tenants) ForgetController(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, name)
}
