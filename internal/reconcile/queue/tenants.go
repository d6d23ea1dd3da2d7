package queue

import (
	"sync"

	v1 "github.com/templater-dev/templater/api/v1"
)

// Tenants says who shares a turn with whom: the TemplateControllers whose accounts are in one namespace, which is all
// that its owner needs to have any number of accounts. One that names no account is a tenant of its own. It is safe for
// concurrent use.
type Tenants struct {
	mu sync.RWMutex
	of map[string]string // by controller
}

// NamespaceTenant begins the name of a tenant that is a namespace of accounts. No controller has such a name.
const NamespaceTenant = "namespace/"

// NewTenants returns tenants of whom nothing is known.
func NewTenants() *Tenants { return &Tenants{of: map[string]string{}} }

// Set says which account a controller names, nil for none.
func (t *Tenants) Set(controller string, account *v1.ServiceAccountRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[controller] = TenantOf(controller, account)
}

// TenantOf returns whose a controller is that names this account, nil for none.
func TenantOf(controller string, account *v1.ServiceAccountRef) string {
	if account == nil {
		return controller
	}
	return NamespaceTenant + account.Namespace
}

// Of returns whose a controller is, and whether that is known.
func (t *Tenants) Of(controller string) (string, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if tenant, ok := t.of[controller]; ok {
		return tenant, true
	}
	return controller, false
}

// Name returns whose a controller is, as far as that is known.
func (t *Tenants) Name(controller string) string {
	tenant, _ := t.Of(controller)
	return tenant
}

// ForgetController forgets about a controller that is gone.
func (t *Tenants) ForgetController(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, name)
}
