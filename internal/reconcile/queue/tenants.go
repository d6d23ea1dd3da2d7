package queue

import (
	"sync"

	v1 "github.com/templater-dev/templater/api/v1"
)

// Tenants says who shares a turn with whom: the TemplateControllers whose accounts are in one namespace, which is all
// that its owner needs to have any number of accounts. One that names no account is a tenant of its own. It is safe for
// concurrent use.
type Tenants struct {
	mu          sync.RWMutex
	of          map[string]string // by controller
	controllers map[string]int    // of each tenant; none is 0
}

// NewTenants returns tenants of whom nothing is known.
func NewTenants() *Tenants { return &Tenants{of: map[string]string{}, controllers: map[string]int{}} }

// Set says which account a controller names, nil for none.
func (t *Tenants) Set(controller string, account *v1.ServiceAccountRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(controller)
	tenant := controller
	if account != nil {
		tenant = "namespace/" + account.Namespace // no controller has such a name
	}
	t.of[controller] = tenant
	t.controllers[tenant]++
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

// ForgetController forgets about a controller that is gone.
func (t *Tenants) ForgetController(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(name)
}

// forget is ForgetController; the lock is held.
func (t *Tenants) forget(name string) {
	tenant, known := t.of[name]
	if !known {
		return
	}
	delete(t.of, name)
	if t.controllers[tenant]--; t.controllers[tenant] == 0 {
		delete(t.controllers, tenant)
	}
}

// Several reports whether there is more than one.
func (t *Tenants) Several() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.controllers) > 1
}
