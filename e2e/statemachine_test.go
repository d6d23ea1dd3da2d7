package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	machines    = 200
	longestPath = 8 // states
	// machineTime is the timeout for all machines together; it only ends a test that would wait forever.
	machineTime = 2 * time.Minute
)

// stateMachine follows spec.next from state to state via its own status, and has a child in the last state only.
const stateMachine = watchThings + `
resyncPeriod: 0s
children:
- name: last
  template: |
    {{ if not (index .spec.next (.status.phase | default "s0")) }}
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: {{ .metadata.name }}}
    data: {at: {{ .status.phase }}, round: {{ .spec.round | quote }}}
    {{ end }}
status:
  template: |
    {{ $at := .status.phase | default "s0" }}
    phase: {{ index .spec.next $at | default $at }}
`

// graph generates states, each of which leads to another one except the last, which all reach.
func graph(random *rand.Rand) (next map[string]string, last string) {
	states := random.Perm(2 + random.IntN(longestPath-1))
	name := func(i int) string { return fmt.Sprint("s", states[i]) }
	next = map[string]string{}
	for i := range len(states) - 1 {
		next[name(i)] = name(i + 1 + random.IntN(len(states)-1-i))
	}
	last = name(len(states) - 1)
	for i := len(states); i < longestPath; i++ { // states of other graphs
		next[fmt.Sprint("s", i)] = last
	}
	return next, last
}

func TestStateMachinesReachFinalState(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	startOperator(t)
	s.controller(stateMachine)
	random := rand.New(rand.NewPCG(randomSeed(t), 0))
	for round := range 3 {
		began := time.Now()
		ends := map[string]string{}
		for i := range machines {
			next, last := graph(random)
			name := fmt.Sprint("m", i)
			ends[name] = last
			spec, err := json.Marshal(map[string]any{"next": next, "round": round})
			if err != nil {
				t.Fatal(err)
			}
			s.thing(name, string(spec))
		}
		applied := time.Now()
		eventually(t, machineTime, func() error { return s.atTheirEnd(ends, round) })
		t.Logf("round %d: %d machines were applied in %s, and at their end %s after", round, machines, applied.Sub(began).Round(time.Millisecond), time.Since(applied).Round(time.Millisecond))
	}
}

// atTheirEnd returns an error if a machine is not in its last state, or is not ready.
func (s *scope) atTheirEnd(ends map[string]string, round int) error {
	children, err := s.in(configMaps).List(s.t.Context(), metav1.ListOptions{LabelSelector: "templater.dev/child=last"})
	if err != nil {
		return err
	}
	at := map[string]any{}
	for _, child := range children.Items {
		at[child.GetName()] = child.Object["data"]
	}
	parents, err := s.things().List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(parents.Items) != len(ends) {
		return fmt.Errorf("%d machines, want %d", len(parents.Items), len(ends))
	}
	for _, o := range parents.Items {
		name := o.GetName()
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		if err := errors.Join(ready(&o), same("phase of "+name, ends[name], phase),
			same("child of "+name, any(map[string]any{"at": ends[name], "round": fmt.Sprint(round)}), at[name])); err != nil {
			return err
		}
	}
	return nil
}
