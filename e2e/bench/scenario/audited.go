package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/templater-dev/templater/e2e/bench/bed"
	"github.com/templater-dev/templater/e2e/cluster/audit"
	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// audited returns the contender's requests since the mark, except those for Leases, Events and the debounced status of
// TemplateControllers.
func (b *Bench) audited(since audit.Mark) ([]audit.Event, error) {
	return b.Bed.Cluster.Audit().Since(since, func(e audit.Event) bool {
		aside := e.ObjectRef.Resource == "leases" || e.ObjectRef.Resource == "events" ||
			e.ObjectRef.Resource == "templatecontrollers" && e.ObjectRef.Subresource == "status"
		return e.User.Username == bed.User && !aside
	})
}

// announced returns the requests for Events since the mark.
func (b *Bench) announced(since audit.Mark) ([]audit.Event, error) {
	return b.Bed.Cluster.Audit().Since(since, func(e audit.Event) bool {
		return e.User.Username == bed.User && e.ObjectRef.Resource == "events"
	})
}

// silence returns the requests since the mark, once there are at least that many and no more arrive for a second.
func (b *Bench) silence(ctx context.Context, since audit.Mark, least int) ([]audit.Event, error) {
	const long = time.Second
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var events []audit.Event
	count, changed := -1, time.Now()
	err := poll.Until(ctx, 50*time.Millisecond, func() error {
		var err error
		if events, err = b.audited(since); err != nil {
			return poll.Stop(err)
		}
		if len(events) != count {
			count, changed = len(events), time.Now()
		}
		if count < least || time.Since(changed) < long {
			return fmt.Errorf("the contender is still busy, %d requests are expected: %s", least, tally(events))
		}
		return nil
	})
	return events, err
}

// tally counts requests by verb, resource and status code: "patch configmaps 201: 2, …".
func tally(events []audit.Event) string {
	counts := map[string]int{}
	for _, e := range events {
		resource := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		counts[strings.TrimSpace(fmt.Sprintf("%s %s %d", e.Verb, resource, e.ResponseStatus.Code))]++
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%s: %d", key, counts[key]))
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// beyondReading drops lists, watches and discovery, which includes reading CRDs, from the requests of a start.
func beyondReading(events []audit.Event) []audit.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e audit.Event) bool {
		discovery := e.Verb == "get" && slices.Contains([]string{"", "customresourcedefinitions"}, e.ObjectRef.Resource)
		return discovery || e.Verb == "list" || e.Verb == "watch"
	})
}
