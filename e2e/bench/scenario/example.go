package scenario

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/e2e/bench/workload"
)

// example is a parent and its first child.
type example struct{ parent, child *unstructured.Unstructured }

// volatile matches UIDs, hashes, seals, times, resource versions, and the addresses and volumes of Pods.
var volatile = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}|\d{10}:3:[0-9a-z]{8}:[\w-]{22}:|\d{4}-\d\d-\d\dT[0-9:.]+Z|"resourceVersion":"\d+"|\d+\.\d+\.\d+\.\d+|kube-api-access-[a-z0-9]+`)

// asItem makes a Twin or Peer look like an Item.
var asItem = strings.NewReplacer("twin", "item", "Twin", "Item", "peer", "item", "Peer", "Item")

func (b *Bench) example(ctx context.Context, task workload.Task) (e example, err error) {
	if e.parent, err = b.Bed.Example(ctx, task.Parents(), workload.ParentName(0)); err != nil {
		return example{}, err
	}
	e.child, err = b.Bed.Example(ctx, task.ChildResource(), task.ChildName(workload.ParentName(0), 0))
	return e, err
}

// lasting is an object as text without volatile parts, and without managedFields unless writers are compared.
func lasting(o *unstructured.Unstructured, writers bool) (string, error) {
	o = o.DeepCopy()
	if !writers {
		o.SetManagedFields(nil)
	}
	data, err := json.Marshal(o.Object)
	return asItem.Replace(volatile.ReplaceAllString(string(data), "")), err
}

// differs returns where the other example begins to differ, "" if nowhere.
func (e example) differs(other example, writers bool) (string, error) {
	for _, pair := range []struct {
		what string
		a, b *unstructured.Unstructured
	}{{"the parent: ", e.parent, other.parent}, {"the child: ", e.child, other.child}} {
		a, err := lasting(pair.a, writers)
		if err != nil {
			return "", err
		}
		b, err := lasting(pair.b, writers)
		if err != nil {
			return "", err
		}
		if at := firstDifference(a, b); at != "" {
			return pair.what + at, nil
		}
	}
	return "", nil
}

func firstDifference(a, b string) string {
	if a == b {
		return ""
	}
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	const around = 40
	return "…" + a[max(0, i-around):min(len(a), i+around)] + "… and …" + b[max(0, i-around):min(len(b), i+around)] + "…"
}
