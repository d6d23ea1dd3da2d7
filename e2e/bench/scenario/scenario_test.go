package scenario

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/e2e/bench/workload"
	"github.com/templater-dev/templater/e2e/cluster/audit"
)

func TestSelect(t *testing.T) {
	for why, row := range map[string]struct {
		names []string
		want  string
		err   string
	}{
		"some run in the order of the list": {[]string{"ten", "configmap"}, "configmap ten", ""},
		"twice is once":                     {[]string{"ten", "ten"}, "ten", ""},
		"the default takes minutes":         {[]string{"default"}, "configmap update pod ten latency requests", ""},
		"more than the default":             {[]string{"default", "restart"}, "configmap update pod ten latency restart requests", ""},
		"all":                               {[]string{"all"}, "configmap update pod ten latency first restart requests memory controllers fairness", ""},
		"an unknown one":                    {[]string{"tenn"}, "", `--scenarios: there is no "tenn"; give some of all, default, configmap`},
	} {
		t.Run(why, func(t *testing.T) {
			selected, err := Select(row.names)
			var names []string
			for _, s := range selected {
				names = append(names, s.Name)
			}
			if got := strings.Join(names, " "); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
			if row.err == "" && err != nil || row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)) {
				t.Errorf("error %v, want %q", err, row.err)
			}
		})
	}
}

func TestBestWorkers(t *testing.T) {
	for why, row := range map[string]struct {
		rates map[int]float64
		want  int
	}{
		"clearly the best":       {map[int]float64{8: 200, 16: 100, 32: 150}, 8},
		"a near-tie is for 16":   {map[int]float64{8: 100, 16: 97, 32: 102}, 16},
		"just beyond a near-tie": {map[int]float64{8: 90, 16: 94, 32: 100}, 32},
	} {
		t.Run(why, func(t *testing.T) {
			if got := bestWorkers(row.rates); got != row.want {
				t.Errorf("got %d, want %d", got, row.want)
			}
		})
	}
}

func event(verb, resource, subresource, name string, code int) (e audit.Event) {
	e.Verb = verb
	e.ObjectRef.Resource, e.ObjectRef.Subresource, e.ObjectRef.Name = resource, subresource, name
	e.ResponseStatus.Code = code
	return e
}

func TestRequestsBeyondCacheReads(t *testing.T) {
	events := []audit.Event{
		event("get", "", "", "", 200), // discovery
		event("list", "configmaps", "", "", 200),
		event("watch", "items", "", "", 200),
		event("get", "items", "", "p-000001", 200),
		event("patch", "items", "status", "p-000001", 200),
		event("patch", "items", "status", "p-000002", 200),
	}
	if got, want := tally(beyondReading(events)), "get items 200: 1, patch items/status 200: 2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := tally(nil); got != "none" {
		t.Errorf("no requests are %q", got)
	}
}

func TestUnrelatedRequests(t *testing.T) {
	task := workload.Task{Name: "kind01-2", Kind: "Kind01", ChildKind: workload.ConfigMap, Children: 1}
	events := []audit.Event{
		event("patch", "kind01s", "status", "p-000003", 200),
		event("patch", "configmaps", "", "p-000003-kind01-2-0", 200),
		event("patch", "configmaps", "", "p-000003-kind01-3-0", 200), // of another TemplateController
		event("patch", "kind02s", "status", "p-000003", 200),         // of another kind
	}
	if diff := cmp.Diff(events[2:], strangers(events, task)); diff != "" {
		t.Errorf("requests of others (-want +got):\n%s", diff)
	}
}

func TestManyTasks(t *testing.T) {
	kinds, tasks := manyTasks(manyKinds)
	if len(kinds) != 50 || len(tasks) != 500 {
		t.Errorf("%d kinds, %d tasks", len(kinds), len(tasks))
	}
	names := map[string]bool{}
	for _, task := range tasks {
		names[task.Name] = true
	}
	if len(names) != len(tasks) {
		t.Errorf("%d tasks have %d names", len(tasks), len(names))
	}
}

func TestFirstDifference(t *testing.T) {
	long := strings.Repeat("x", 100)
	for why, row := range map[string]struct{ a, b, want string }{
		"equal":             {"abc", "abc", ""},
		"something else":    {"abc", "abd", "…abc… and …abd…"},
		"one is longer":     {"ab", "abc", "…ab… and …abc…"},
		"only the place":    {long + "a" + long, long + "b" + long, "…" + long[:40] + "a" + long[:39] + "… and …" + long[:40] + "b" + long[:39] + "…"},
		"one has nothing":   {"", "a", "…… and …a…"},
		"both have nothing": {"", "", ""},
	} {
		t.Run(why, func(t *testing.T) {
			if got := firstDifference(row.a, row.b); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestVolatile(t *testing.T) {
	text := `{"uid":"87cba6e0-5a33-48a8-8cfc-21412e975ca4","resourceVersion":"292","hash":"a10f603241bc8505a0867c214c2a0f4f","time":"2026-11-20T17:07:46Z","podIP":"10.128.0.1","color":"red"}`
	if got, want := volatile.ReplaceAllString(text, ""), `{"uid":"",,"hash":"","time":"","podIP":"","color":"red"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
