package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/e2e/cluster/audit"
)

// attackTime is short by default, because other tests run in parallel. make test-attacks uses five minutes.
var attackTime = flag.Duration("attack-time", 30*time.Second, "for how long TestConcurrentAttacksDoNotDelayNeighbors attacks")

// attacker repeats an action. An error means that an attack succeeded, or that it could not be tried.
type attacker struct {
	what string
	each time.Duration
	try  func(ctx context.Context, round int) error
}

// assault starts all attackers. end stops them, and expects each to have tried at least that often.
func (s *scope) assault(all ...attacker) (end func(least int)) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var mu sync.Mutex
	var done sync.WaitGroup
	rounds, last := map[string]int{}, map[string]error{}
	for _, a := range all {
		done.Go(func() {
			for round := 0; ctx.Err() == nil; round++ {
				err := a.try(ctx, round)
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				rounds[a.what]++
				if err != nil {
					last[a.what] = err
				}
				mu.Unlock()
				pause(ctx, a.each)
			}
		})
	}
	return func(least int) {
		s.t.Helper()
		cancel()
		done.Wait()
		s.t.Logf("the attackers have tried so often: %v", rounds)
		for what, err := range last {
			s.t.Errorf("%s: %v", what, err)
		}
		for _, a := range all {
			if rounds[a.what] < least {
				s.t.Errorf("%s: tried %d times, want at least %d", a.what, rounds[a.what], least)
			}
		}
	}
}

// TestConcurrentAttacksDoNotDelayNeighbors runs all attacks that other tests run separately against templater as
// shipped, at once. Parents of a neighbor are created at a steady rate before and during the attacks.
func TestConcurrentAttacksDoNotDelayNeighbors(t *testing.T) {
	parallel(t)
	needsAudit(t)
	const selecting = 200
	sh := newShipped(t)
	leader := sh.start(0)
	leader.waitLeading(soon)
	standby := sh.start(1)
	sh.waitChecked("at first")
	st := newStream(sh.scope, othersThan(leader.view, sh.expand("@id-quiet")))
	attackers, intact := sh.prepare(selecting)
	leader.still(time.Second)
	before := st.during(10 * time.Second)

	since := mark(t)
	ctx, stop := context.WithCancel(t.Context())
	reviews := []*attack{newAttack(ctx, sh.url(0), worstReviews(t)), newAttack(ctx, sh.url(1), worstReviews(t))}
	defer func() { stop(); reviews[0].done.Wait(); reviews[1].done.Wait() }()
	end := sh.assault(attackers...)
	arrived := st.begin()
	told, slowest := 0, time.Duration(0)
	for round, began := 0, time.Now(); time.Since(began) < *attackTime; round++ {
		if round == 2 { // a restarted replica meets all attacks without being the leader
			standby.lives(sh.limit)
			standby.Kill()
			standby = sh.start(1)
		}
		heard, took := sh.write(fmt.Sprint("@id-honest-", round))
		slowest = max(slowest, took)
		if heard {
			told++
		}
		pause(t.Context(), *attackTime/8)
	}
	beside := arrived()
	end(3)
	stop()
	for i, r := range reviews {
		r.done.Wait()
		text, _ := r.tally(1)
		t.Logf("replica %d answered reviews %s", i, text)
	}
	t.Logf("%d other writers got the error, the slowest write took %s", told, slowest)
	t.Logf("requests of the leader beside the attack: %v", tally(leader.requests(since)))
	sh.countRequests(leader.operator, since, beside)
	leader.lives(sh.limit)
	standby.lives(sh.limit)
	expectFair(t, before, beside, selecting/2)
	sh.waitChecked("afterwards")
	for _, name := range []string{"@id-watches-a", "@id-watches-b"} { // their watches are retried forever
		sh.delete(env.client.Resource(controllers), name)
	}
	intact()

	// The other replica reconciles everything once more.
	leader.still(2 * time.Second)
	again := mark(t)
	passes := func() (float64, error) {
		m, err := standby.view.scrape()
		return m[fmt.Sprintf("templater_reconcile_total{controller=%q,namespace=\"\",result=\"success\"}", sh.id+"-quiet")], err
	}
	leader.Stop()
	standby.waitLeading(soon)
	eventually(t, soon, func() error {
		n, err := passes()
		return errors.Join(err, atLeast("parents of the neighbor were reconciled again", n, float64(st.last)))
	})
	standby.still(2 * time.Second)
	// It may apply the child "drift" once, after observing an earlier seal, and the order determines which of the
	// tenant's parents get memory for their selections.
	writes := slices.DeleteFunc(standby.writes(again), func(e audit.Event) bool {
		return e.ObjectRef.Resource == configMaps.Resource && e.ObjectRef.Name == "drift" || e.ObjectRef.Subresource == "status" && strings.HasPrefix(e.ObjectRef.Name, "selects-too-much-")
	})
	if len(writes) > 0 {
		t.Errorf("a second reconciliation of everything has made %d writes: %v", len(writes), writes[:min(len(writes), 20)])
	}
	standby.lives(sh.limit)
}

// countRequests logs the operator's requests for others while parents waited.
func (s *scope) countRequests(op *operator, since audit.Mark, w window) {
	s.t.Helper()
	var others []time.Time
	arrived := map[string]time.Time{}
	for _, e := range op.requests(since) {
		switch _, ours := w.names[e.ObjectRef.Name]; {
		case !strings.HasPrefix(e.ObjectRef.Name, "quiet-"):
			others = append(others, e.Received)
		case ours && e.ObjectRef.Resource == configMaps.Resource && arrived[e.ObjectRef.Name].IsZero():
			arrived[e.ObjectRef.Name] = e.Received
		}
	}
	var meanwhile []int
	for name, p := range w.names {
		n := 0
		for _, at := range others {
			if at.After(p.began) && at.Before(arrived[name]) {
				n++
			}
		}
		meanwhile = append(meanwhile, n)
	}
	slices.Sort(meanwhile)
	s.t.Logf("%d requests for others; while a parent waited, there were %d of them (tenth %d)", len(others), middle(meanwhile), meanwhile[len(meanwhile)*9/10])
}

// written is a TemplateController of the test's class for others to create. It is deleted after the test.
func (s *scope) written(name, spec string) *unstructured.Unstructured {
	s.t.Helper()
	o := &unstructured.Unstructured{}
	text := s.expand("apiVersion: templater.dev/v1\nkind: TemplateController\nmetadata: {name: \"" + name + "\"}\nspec:\n" + indent(spec))
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		s.t.Fatal(err)
	}
	if err := s.classify(o, controllers); err != nil {
		s.t.Fatal(err)
	}
	s.own(controllers, o.GetName())
	return o
}

// createsAll makes an attacker create TemplateControllers one by one, repeatedly. The webhook may reject them.
func createsAll(all []*unstructured.Unstructured) func(ctx context.Context, round int) error {
	return func(ctx context.Context, round int) error {
		_, err := env.client.Resource(controllers).Create(ctx, all[round%len(all)], metav1.CreateOptions{})
		return refusedAtMost(err)
	}
}

// refusedAtMost ignores a rejection by the webhook, AlreadyExists and Conflict.
func refusedAtMost(err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || err != nil && strings.Contains(err.Error(), "denied the request") {
		return nil
	}
	return err
}

// mustBeForbidden returns an error unless the API server rejected the request for a missing permission.
func mustBeForbidden(what string, err error) error {
	switch {
	case err == nil:
		return errors.New(what + ": want a refusal, and it was allowed")
	case !apierrors.IsForbidden(err):
		return fmt.Errorf("%s: want a refusal: %w", what, err)
	}
	return nil
}

// prepare creates the targets. It returns the attackers, and a function that expects the targets to be intact.
func (sh *shipped) prepare(selecting int) (attackers []attacker, intact func()) {
	sh.t.Helper()
	edits, watches := sh.beside("edits"), sh.beside("watches")
	drift, drifted := sh.drifts()
	orphans, kept := sh.orphans()
	policy, refused := sh.policyIsTried()
	forged, replaced := sh.statusIsForged()
	// Each repair is a write, and a parent is throttled after 60 of them.
	repaired := max(time.Second, *attackTime/40)
	attackers = []attacker{
		{"definitions that take too much memory (2)", 100 * time.Millisecond, createsAll(sh.largeDefinitions())},
		{"large definitions that change all the time (3)", 100 * time.Millisecond, edits.editsLarge(10)},
		{"watches of namespaces that are not there (4)", 5 * time.Second, watches.watchesMany()},
		{"drift under templater's name (5)", repaired, drift},
		{"marks of orphans (6)", 200 * time.Millisecond, orphans},
		{"changes that CEL does not see (7)", 200 * time.Millisecond, policy},
		{"the key of the webhook and the Lease (8)", 200 * time.Millisecond, sh.secondInstallation()},
		{"forged status (9)", repaired, forged},
		{"selections (10)", time.Second, sh.selects(selecting)},
	}
	return attackers, func() {
		sh.t.Helper()
		drifted()
		kept()
		refused()
		replaced()
	}
}

// largeDefinitions are the TemplateControllers of TestOversizedTemplateControllersDoNotExhaustMemory.
func (s *scope) largeDefinitions() []*unstructured.Unstructured {
	s.t.Helper()
	write := func(name string, templates ...string) *unstructured.Unstructured {
		spec := `watch: {apiVersion: "@group/v1", kind: Thing, namespaces: ["@ns"], labelSelector: {matchLabels: {side: nobody}}}` + "\nchildren:"
		for i, template := range templates {
			spec += fmt.Sprintf("\n- {name: e%d, template: '%s'}", i, template)
		}
		return s.written(name, spec)
	}
	var all []*unstructured.Unstructured
	for i := range 6 {
		all = append(all, write(fmt.Sprint("@id-too-large-", i), slices.Repeat([]string{strings.Repeat("{{1}}", 52_000)}, 5)...))
	}
	for i := range 20 {
		all = append(all, write(fmt.Sprint("@id-large-", i), strings.Repeat("{{1}}", 16_600)))
	}
	return append(all, write("@id-arguments", "{{ and"+strings.Repeat(" .a", 80_000)+" }}"), write("@id-arguments-that-are-there", "{{ $x := and"+strings.Repeat(" .spec", 40_000)+" }}"))
}

// largeEdited is a valid TemplateController of 1.2 MB: five templates, each with 40 fields to check and much text to
// parse.
func largeEdited(account string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "serviceAccountRef: {namespace: \"@ns\", name: %s}\nwatch: {apiVersion: \"@group/v1\", kind: Thing, namespaces: [\"@ns\"], labelSelector: {matchLabels: {side: edited}}}\nvalues: {round: 0}\nchildren:", account)
	for i := range 5 {
		fmt.Fprintf(&text, "\n- name: e%d\n  template: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: \"{{ .metadata.name }}-%d\"}\n    data:", i, i)
		for field := range 40 {
			fmt.Fprintf(&text, "\n      a%d: {{ .spec.a%d | quote }}", field, field)
		}
		text.WriteString("\n    # " + strings.Repeat("a: [b, c] ", 23_800))
	}
	return text.String() + "\n"
}

// editsLarge makes a tenant of the scope's namespace write that many large TemplateControllers, and change them one by
// one.
func (s *scope) editsLarge(number int) func(ctx context.Context, round int) error {
	s.t.Helper()
	s.account("editor", thingRules+configMapRules)
	var all []*unstructured.Unstructured
	for i := range number {
		all = append(all, s.written(fmt.Sprint("@id-edited-", i), largeEdited("editor")))
	}
	in := env.client.Resource(controllers)
	return func(ctx context.Context, round int) error {
		o := all[round%len(all)]
		_, err := in.Patch(ctx, o.GetName(), types.MergePatchType, fmt.Appendf(nil, `{"spec":{"values":{"round":%d}}}`, round), metav1.PatchOptions{})
		if apierrors.IsNotFound(err) {
			_, err = in.Create(ctx, o, metav1.CreateOptions{})
		}
		return refusedAtMost(err)
	}
}

// watchesMany gives a tenant of the scope's namespace the two TemplateControllers of
// TestForbiddenWatchesDoNotDelayNeighbors, and restarts their watches of parents in each round.
func (s *scope) watchesMany() func(ctx context.Context, round int) error {
	s.t.Helper()
	s.labeled("greedy", "greedy")
	var all []*unstructured.Unstructured
	for _, name := range []string{"watches-a", "watches-b"} {
		s.account(name, thingRules)
		all = append(all, s.written("@id-"+name, greedyWatches(name)))
	}
	in := env.client.Resource(controllers)
	return func(ctx context.Context, round int) error {
		for _, o := range all {
			_, err := in.Patch(ctx, o.GetName(), types.MergePatchType, fmt.Appendf(nil, `{"spec":{"watch":{"labelSelector":{"matchLabels":{"side":"greedy-%d"}}}}}`, round), metav1.PatchOptions{})
			if apierrors.IsNotFound(err) {
				_, err = in.Create(ctx, o, metav1.CreateOptions{})
			}
			if refusedAtMost(err) != nil {
				return err
			}
		}
		return nil
	}
}

// drifts makes an attacker apply a child as templater's field manager, with an earlier seal and with the current one.
func (s *scope) drifts() (try func(ctx context.Context, round int) error, intact func()) {
	s.t.Helper()
	s.controllerNamed("@id-drift", `
watch: {apiVersion: "@group/v1", kind: Thing, namespaces: ["@ns"], labelSelector: {matchLabels: {side: drift}}}
children:
- name: config
  template: |
    {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .metadata.name }}"}, data: {color: "{{ .spec.color | default "none" }}", size: "1"}}
`)
	s.labeled("drift", "drift")
	earlier := waitFor(s.t, s.in(configMaps), "drift", nil).GetAnnotations()["templater.dev/seal"]
	s.patch(s.things(), "drift", `{"spec":{"color":"red"}}`)
	repaired := func(o *unstructured.Unstructured) error {
		return same("data", map[string]any{"color": "red", "size": "1"}, o.Object["data"])
	}
	child := waitFor(s.t, s.in(configMaps), "drift", repaired)
	mallory, manager := s.attacker(s.ns, "get", "update", "patch"), s.expand("templater/@id-drift")
	try = func(ctx context.Context, round int) error {
		o := child.DeepCopy()
		o.SetManagedFields(nil)
		o.SetResourceVersion("")
		o.Object["data"] = map[string]any{"color": "blue", "size": "1"}
		if round%2 == 0 {
			annotations := o.GetAnnotations()
			annotations["templater.dev/seal"] = earlier
			o.SetAnnotations(annotations)
		}
		_, err := mallory.Apply(ctx, "drift", o, metav1.ApplyOptions{FieldManager: manager, Force: true})
		return err
	}
	return try, func() {
		s.t.Helper()
		if o := waitFor(s.t, s.in(configMaps), "drift", repaired); o.GetUID() != child.GetUID() {
			s.t.Error("a child that was changed repeatedly was replaced")
		}
	}
}

// orphans makes an attacker change the labels and annotations of children that outlive their parent while the parent is
// deleted.
func (s *scope) orphans() (try func(ctx context.Context, round int) error, intact func()) {
	s.t.Helper()
	far := s.id + "-far"
	mallory := s.attacker(far, "get", "patch")
	children := env.client.Resource(configMaps).Namespace(far)
	spec := strings.ReplaceAll(keptElsewhere, "kind: Thing}", `kind: Thing, namespaces: ["@ns"], labelSelector: {matchLabels: {side: orphans}}}`)
	s.controllerNamed("@id-orphans", strings.ReplaceAll(spec, "deletionPolicy: Orphan", "deletionPolicy: Delete"))
	s.labeled("orphans", "orphans")
	earlier := waitFor(s.t, children, "earlier", nil).GetAnnotations()["templater.dev/seal"]
	s.controllerNamed("@id-orphans", spec)
	attacks := orphanAttacks(earlier)
	before := map[string]types.UID{}
	for name := range attacks {
		before[name] = waitFor(s.t, children, name, func(o *unstructured.Unstructured) error {
			return same("annotation", "Orphan", o.GetAnnotations()["templater.dev/deletion"])
		}).GetUID()
	}
	names := slices.Sorted(maps.Keys(attacks))
	try = func(ctx context.Context, round int) error {
		if round == 2*len(names) {
			if err := s.things().Delete(ctx, "orphans", metav1.DeleteOptions{}); err != nil {
				return err
			}
		}
		name := names[round%len(names)]
		_, err := mallory.Patch(ctx, name, types.MergePatchType, []byte(attacks[name]), metav1.PatchOptions{})
		return err
	}
	return try, func() {
		s.t.Helper()
		waitGone(s.t, s.things(), "orphans")
		waitGone(s.t, children, "last")
		for name, uid := range before {
			if o := waitFor(s.t, children, name, nil); o.GetUID() != uid || o.GetDeletionTimestamp() != nil {
				s.t.Errorf("%s, which outlives its parent, was deleted", name)
			}
		}
	}
}

// policyIsTried makes a user without permission to impersonate the service account of a TemplateController change its
// values to ones that are equal in CEL.
func (s *scope) policyIsTried() (try func(ctx context.Context, round int) error, intact func()) {
	s.t.Helper()
	s.apply(policyUsers)
	s.account("guarded", thingRules)
	s.controllerNamed("@id-guarded", `
serviceAccountRef: {namespace: "@ns", name: guarded}
watch: {apiVersion: "@group/v1", kind: Thing, namespaces: ["@ns"], labelSelector: {matchLabels: {side: nobody}}}
values: {one: 1}
children: [{name: none, template: "{{ fail \"never\" }}"}]
`)
	name := s.id + "-guarded"
	generation := waitFor(s.t, env.client.Resource(controllers), name, nil).GetGeneration()
	bob := s.asUser(s.expand("@id-bob"), "")
	patches := []string{`{"spec":{"values":{"one":1.0}}}`, `{"spec":{"values":{"one":1e0}}}`, `{"spec":{"suspend":false}}`, `{"spec":{"suspend":true}}`}
	eventually(s.t, soon, func() error {
		_, err := bob.Patch(s.t.Context(), name, types.MergePatchType, []byte(patches[3]), metav1.PatchOptions{DryRun: dryRun})
		return mustBeForbidden("the policy is not in force yet", err)
	})
	try = func(ctx context.Context, round int) error {
		patch := patches[round%len(patches)]
		_, err := bob.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return mustBeForbidden(patch, err)
	}
	return try, func() {
		s.t.Helper()
		if got := waitFor(s.t, env.client.Resource(controllers), name, nil).GetGeneration(); got != generation {
			s.t.Errorf("the TemplateController of another account has the generation %d, want %d", got, generation)
		}
	}
}

// secondInstallation makes the service account of a second installation, which shares the seal keys as in install.md,
// try to exceed its permissions.
func (sh *shipped) secondInstallation() func(ctx context.Context, round int) error {
	sh.t.Helper()
	const account = "templater-b"
	sh.home.apply(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: ` + account + `}}`)
	user := "system:serviceaccount:" + sh.home.ns + ":" + account
	sh.home.grant(account, user, `- {apiGroups: [""], resources: [secrets], resourceNames: [templater-seal], verbs: [list, watch]}`)
	config, err := clientcmd.BuildConfigFromFlags("", sh.home.tokenKubeconfig(account))
	if err != nil {
		sh.t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		sh.t.Fatal(err)
	}
	keys, lease := client.Resource(secrets).Namespace(sh.home.ns), client.Resource(leases).Namespace(sh.home.ns)
	eventually(sh.t, soon, func() error {
		_, err := keys.List(sh.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=templater-seal"})
		return err
	})
	return func(ctx context.Context, _ int) error {
		_, key := keys.Get(ctx, sh.secretName(), metav1.GetOptions{})
		_, all := keys.List(ctx, metav1.ListOptions{})
		_, stolen := lease.Patch(ctx, "templater-"+classOf(sh.t), types.MergePatchType, []byte(`{"spec":{"holderIdentity":"mallory"}}`), metav1.PatchOptions{})
		return errors.Join(mustBeForbidden("the key of the webhook", key), mustBeForbidden("all Secrets", all), mustBeForbidden("the Lease", stolen))
	}
}

// statusIsForged makes an attacker write the status of a parent as a TemplateController of another installation.
func (s *scope) statusIsForged() (try func(ctx context.Context, round int) error, intact func()) {
	s.t.Helper()
	s.apply(`
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: "@id-elsewhere"}
spec:
  className: "@id-b"
  watch: {apiVersion: "@group/v1", kind: Thing}
  status: {template: "color: red"}
`)
	s.controllerNamed("@id-status", `
watch: {apiVersion: "@group/v1", kind: Thing, namespaces: ["@ns"], labelSelector: {matchLabels: {side: forged}}}
status: {template: "color: red"}
`)
	s.labeled("forged", "forged")
	honest := func(o *unstructured.Unstructured) error {
		color, _, _ := unstructured.NestedString(o.Object, "status", "color")
		return errors.Join(same("status.color", "red", color), condition(o, "Ready", "True", "Ready"))
	}
	waitFor(s.t, s.things(), "forged", honest)
	in, manager := s.things(), s.expand("templater/@id-elsewhere")
	forgery := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": s.group + "/v1", "kind": "Thing", "metadata": map[string]any{"name": "forged"},
		"status": map[string]any{"color": "forged", "conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "Forged", "message": "forged", "lastTransitionTime": "2026-01-01T00:00:00Z",
		}}},
	}}
	try = func(ctx context.Context, _ int) error {
		_, err := in.ApplyStatus(ctx, "forged", forgery.DeepCopy(), metav1.ApplyOptions{FieldManager: manager, Force: true})
		return err
	}
	return try, func() {
		s.t.Helper()
		waitFor(s.t, s.things(), "forged", honest)
	}
}

// selects creates that many parents that select related objects with the maximum number of mappings, and as many that
// exceed it, and changes the objects that all of them observe.
func (s *scope) selects(parents int) func(ctx context.Context, round int) error {
	s.t.Helper()
	var all []*unstructured.Unstructured
	for side, mappings := range map[string]int{"selects": allowedMappings, "selects-too-much": 256} {
		s.manyLabelled(side, parents)
		all = append(all, s.written("@id-"+side, selecting(side, mappings)))
	}
	in, related := env.client.Resource(controllers), s.in(configMaps)
	s.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: related, labels: {related: "@id"}}}`)
	return func(ctx context.Context, round int) error {
		for _, o := range all {
			if _, err := in.Create(ctx, o, metav1.CreateOptions{}); refusedAtMost(err) != nil {
				return err
			}
		}
		_, err := related.Patch(ctx, "related", types.MergePatchType, fmt.Appendf(nil, `{"data":{"round":"%d"}}`, round), metav1.PatchOptions{})
		return err
	}
}
