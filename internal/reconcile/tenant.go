package reconcile

import (
	"sync"

	v1 "github.com/templater-dev/templater/api/v1"
)

// tenants says who shares a turn with whom: the TemplateControllers whose accounts are in one namespace, which is all
// that its owner needs to have any number of accounts. One that names no account is a tenant of its own. It is safe for
// concurrent use.
type tenants struct {
	mu sync.RWMutex
	of map[string]string // by controller
}

func newTenants() *tenants { return &tenants{of: map[string]string{}} }

// set says which account a controller names, nil for none.
func (t *tenants) set(controller string, account *v1.ServiceAccountRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[controller] = controller
	if account != nil {
		t.of[controller] = "namespace/" + account.Namespace // no controller has such a name
	}
}

// tenant returns whose a controller is, and whether that is known.
func (t *tenants) tenant(controller string) (string, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if tenant, ok := t.of[controller]; ok {
		return tenant, true
	}
	return controller, false
}

func (t *tenants) forgetController(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, name)
}
