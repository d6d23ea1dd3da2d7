package scenario

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/e2e/bench/workload"
)

// example is a parent and its first child, as text without what always differs.
type example struct{ parent, child string }

// volatile are UIDs, hashes, seals, times, resource versions, and the addresses and volumes of Pods.
var volatile = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}|\d{10}:3:[0-9a-z]{8}:[\w-]{22}:|\d{4}-\d\d-\d\dT[0-9:.]+Z|"resourceVersion":"\d+"|\d+\.\d+\.\d+\.\d+|kube-api-access-[a-z0-9]+`)

// asItem makes a Twin look like an Item.
var asItem = strings.NewReplacer("twin", "item", "Twin", "Item")

func (b *Bench) example(ctx context.Context, task workload.Task) (example, error) {
	parent, err := b.Bed.Example(ctx, task.Parents(), workload.ParentName(0))
	if err != nil {
		return example{}, err
	}
	child, err := b.Bed.Example(ctx, task.ChildResource(), task.ChildName(workload.ParentName(0), 0))
	if err != nil {
		return example{}, err
	}
	var e example
	if e.parent, err = lasting(parent); err != nil {
		return example{}, err
	}
	e.child, err = lasting(child)
	return e, err
}

func lasting(o *unstructured.Unstructured) (string, error) {
	data, err := json.Marshal(o.Object)
	return asItem.Replace(volatile.ReplaceAllString(string(data), "")), err
}

// differs says where the other example begins to differ, "" if nowhere.
func (e example) differs(other example) string {
	if at := firstDifference(e.parent, other.parent); at != "" {
		return "the parent: " + at
	}
	if at := firstDifference(e.child, other.child); at != "" {
		return "the child: " + at
	}
	return ""
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
