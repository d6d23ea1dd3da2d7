package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// newcomer measures a new TemplateController: until its first parent, which already exists, has its child.
type newcomer struct {
	waited       time.Duration
	compilations int // of other TemplateControllers meanwhile
}

// newcomers creates TemplateControllers and measures them.
type newcomers struct {
	*scope
	op       *operator
	children watch.Interface
	number   int
}

func newNewcomers(s *scope, op *operator) *newcomers {
	s.t.Helper()
	children, err := s.in(configMaps).Watch(s.t.Context(), metav1.ListOptions{LabelSelector: "side=new"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(children.Stop)
	n := &newcomers{scope: s, op: op, children: children}
	n.come() // the first one makes the operator discover the kind of the children
	return n
}

func (n *newcomers) come() newcomer {
	n.t.Helper()
	n.number++
	name := fmt.Sprint("new-", n.number)
	n.labeled(name, name)
	since, began := mark(n.t), time.Now()
	n.applyController("@id-"+name, `
watch: {apiVersion: "@group/v1", kind: Thing, namespaces: ["@ns"], labelSelector: {matchLabels: {side: `+name+`}}}
children:
- name: config
  template: |
    {apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .metadata.name }}, labels: {side: new}}}
`)
	limit := time.After(soon)
	for {
		select {
		case <-limit:
			n.t.Fatalf("the parent of %s has no child after %s", name, soon)
		case event := <-n.children.ResultChan():
			if child, ok := event.Object.(*unstructured.Unstructured); ok && child.GetName() == name {
				ended := time.Now()
				n.waitController("@id-"+name, func(o *unstructured.Unstructured) error { return condition(o, "Accepted", "True", "") })
				return newcomer{ended.Sub(began), n.op.compilations(since, n.id+"-edited-", began, ended)}
			}
		}
	}
}

// comes creates that many, one by one, and returns their waiting times, and the number of other compilations meanwhile,
// both sorted.
func (n *newcomers) comes(number int) (waited []time.Duration, compilations []int) {
	n.t.Helper()
	for range number {
		one := n.come()
		waited, compilations = append(waited, one.waited), append(compilations, one.compilations)
		pause(n.t.Context(), 200*time.Millisecond)
	}
	slices.Sort(waited)
	slices.Sort(compilations)
	return waited, compilations
}

// TestFrequentEditsDoNotDelayNeighbors makes a tenant change ten TemplateControllers of 1.2 MB one by one, so that
// there is always something to compile, while neighbors write TemplateControllers and parents. Times depend on the
// machine, so the test counts the compilations of others between the creation of a neighbor's TemplateController and of
// its first child: without fair queuing there would be ten.
func TestFrequentEditsDoNotDelayNeighbors(t *testing.T) {
	parallel(t)
	needsAudit(t)
	const number, most, neighbors = 10, 4, 11
	s := newScope(t)
	s.defineThing()
	goLimit, limit := shippedMemory(t)
	v, args := newView(t)
	op := startOperatorIn(t, []string{"GOMEMLIMIT=" + goLimit}, operatorOf(t), args...)
	n := newNewcomers(s, op)
	st := newStream(s, othersThan(v, s.expand("@id-quiet")))
	edits := s.beside("edits").editsLarge(number)
	quiet, _ := n.comes(neighbors)
	before := st.during(5 * time.Second)

	since, began := mark(t), time.Now()
	for i := range number { // the first round creates them
		if err := edits(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range number {
		s.waitController(fmt.Sprint("@id-edited-", i), func(o *unstructured.Unstructured) error { return condition(o, "Accepted", "True", "") })
	}
	end := s.assault(attacker{"large definitions that change all the time", 50 * time.Millisecond, edits})
	arrived := st.begin()
	waited, compilations := n.comes(neighbors)
	beside := arrived()
	end(number)
	all := op.compilations(since, s.id+"-edited-", began, time.Now())
	t.Logf("a new TemplateController waits %v until its parent has its child, and %v beside; while it waited, others began %v compilations, of %d in all", quiet, waited, compilations, all)
	if all < 2*number {
		t.Errorf("the operator has compiled %d times only", all)
	}
	if got := middle(compilations); got > most {
		t.Errorf("others have begun %d compilations while a TemplateController waited, want at most %d", got, most)
	}
	expectFair(t, before, beside, number)
	op.withinMemory(limit)
}
