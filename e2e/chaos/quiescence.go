package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/e2e/chaos/model"
	"github.com/templater-dev/templater/e2e/cluster/audit"
)

// calm is how long nothing may be written.
const calm = 2 * time.Second

// still waits until the operator is quiet, and then expects it to stay so.
func (h *harness) still(ctx context.Context, counts func(audit.Event) bool) error {
	var before *found
	var quiet audit.Mark
	err := await(ctx, time.Minute, func() (err error) {
		if before, err = h.look(ctx); err != nil {
			return err
		}
		quiet, err = h.quiet(ctx, counts)
		return err
	})
	if err != nil {
		return err
	}
	if err := pause(ctx, calm); err != nil {
		return err
	}
	written, err := h.writes(quiet, counts)
	if err != nil {
		return err
	}
	if written = h.needless(written); len(written) == 0 {
		return nil
	}
	after, err := h.look(ctx)
	if err != nil {
		return err
	}
	return fmt.Errorf("the operator writes after it was idle: %v%s", written, differences(before, after, written))
}

// differences describes the written objects before and after.
func differences(before, after *found, written []audit.Event) string {
	var out strings.Builder
	told := map[string]bool{}
	for _, e := range written {
		name := e.ObjectRef.Resource + " " + e.ObjectRef.Namespace + "/" + e.ObjectRef.Name
		if !told[name] {
			told[name] = true
			fmt.Fprintf(&out, "\n%s (-before +after):\n%s", name, cmp.Diff(content(before.object(e)), content(after.object(e))))
		}
	}
	return out.String()
}

// object returns the object of a request, or nil.
func (f *found) object(e audit.Event) *unstructured.Unstructured {
	at := e.ObjectRef
	if at.Resource == controllers.Resource {
		return f.controllers[at.Name]
	}
	for _, kind := range model.Kinds {
		if model.Plural(kind) == at.Resource {
			return f.parents[model.ParentID{Kind: kind, Namespace: at.Namespace, Name: at.Name}]
		}
	}
	return f.children[model.ChildID{Resource: at.Resource, Namespace: at.Namespace, Name: at.Name}]
}

// content is an object without the fields that every write changes.
func content(o *unstructured.Unstructured) map[string]any {
	if o == nil {
		return nil
	}
	o = o.DeepCopy()
	o.SetManagedFields(nil)
	o.SetResourceVersion("")
	return o.Object
}

// needless leaves out writes that may be late: a failing parent is retried after a while, which also removes messages
// that a fault caused in its status.
func (h *harness) needless(written []audit.Event) []audit.Event {
	late := map[string]bool{}
	for id := range h.failing {
		late[resourceOf(id.Kind).Resource+"/"+id.Namespace+"/"+id.Name] = true
	}
	return slices.DeleteFunc(written, func(e audit.Event) bool {
		parent := e.ObjectRef.Resource + "/" + e.ObjectRef.Namespace + "/" + e.ObjectRef.Name
		first := late[parent] && e.ObjectRef.Subresource == "status"
		if first {
			delete(late, parent)
		}
		return first
	})
}

// quiet returns an error if the operator has written within the duration calm, otherwise the current end of the audit
// log.
func (h *harness) quiet(ctx context.Context, counts func(audit.Event) bool) (audit.Mark, error) {
	since, err := h.cluster.Audit().Mark()
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, calm); err != nil {
		return 0, err
	}
	written, err := h.writes(since, counts)
	if err == nil && len(written) > 0 {
		err = fmt.Errorf("the operator is busy: %v", written)
	}
	if err != nil {
		return 0, err
	}
	return h.cluster.Audit().Mark()
}

// writes returns the operators' successful writes since the mark that counts accepts. Rejected requests are not
// included: a conflict is retried every 30 s.
func (h *harness) writes(since audit.Mark, counts func(audit.Event) bool) ([]audit.Event, error) {
	return h.cluster.Audit().Since(since, func(e audit.Event) bool {
		return strings.HasPrefix(e.User.Username, user) && !reads(e) && e.ResponseStatus.Code/100 == 2 && counts(e)
	})
}

// changes accepts writes of parents and children. Counts are updated later.
func changes(e audit.Event) bool {
	return anything(e) && (e.ObjectRef.Resource != "templatecontrollers" || e.ObjectRef.Subresource != "status")
}

// anything accepts everything that a quiet operator does not write. It renews its Lease all the time, and checks its
// permissions.
func anything(e audit.Event) bool {
	return e.ObjectRef.Resource != "leases" && e.ObjectRef.Resource != "events" && e.ObjectRef.APIGroup != "authorization.k8s.io"
}
