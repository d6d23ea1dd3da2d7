package e2e

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// rbacSamples are the samples for TestGeneratedRBACIsMinimal. make test-rbac runs all of them.
var rbacSamples = flag.String("rbac-samples", "", "samples that TestGeneratedRBACIsMinimal tries, with commas between them")

// roleSample is the test data for a sample. In manifests, @name is the name of a parent.
type roleSample struct {
	parents string // resource
	parent  string
	// inWay are objects with the name of a child, by resource.
	inWay map[string]string
	// fault and mended are specs of a parent that cause an Event, and that do not.
	fault, mended string
	extra         string // additional objects
}

const objectOf = `{apiVersion: %s, kind: %s, metadata: {name: "%s"}%s}`

var roleSamples = map[string]roleSample{
	"simpledeployment": {
		parents: "simpledeployments", parent: `{apiVersion: "@group/v1", kind: SimpleDeployment, metadata: {name: "@name"}, spec: {sleepytime: "9"}}`,
		inWay: map[string]string{"pods": podInWay("@name")},
	},
	"loadtest": {
		parents: "loadtests", parent: `{apiVersion: "@group/v1", kind: LoadTest, metadata: {name: "@name"}, spec: {replicas: 1, test: {method: GET, serviceName: a, path: /, repeat: 1}}}`,
		inWay: map[string]string{"pods": podInWay("@name-0")},
	},
	"webshop": {
		parents: "webshops", parent: `{apiVersion: "@group/v1", kind: WebShop, metadata: {name: "@name"}, spec: {schema: 1, replicas: 1}}`,
		inWay: map[string]string{
			"services":     fmt.Sprintf(objectOf, "v1", "Service", "@name", ", spec: {ports: [{port: 80}]}"),
			"statefulsets": fmt.Sprintf(objectOf, "apps/v1", "StatefulSet", "@name-db", ", spec: {replicas: 0, serviceName: a, "+podTemplate),
			"jobs":         fmt.Sprintf(objectOf, "batch/v1", "Job", "@name-migrate-1", ", spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}"),
			"deployments":  fmt.Sprintf(objectOf, "apps/v1", "Deployment", "@name-web", ", spec: {replicas: 0, "+podTemplate),
		},
	},
	"orchestr": {
		parents: "orchestrs", parent: `{apiVersion: "@group/v1", kind: Orchestr, metadata: {name: "@name"}, spec: {alerts: {checkRunningPods: true}}}`,
		fault: `{"spec":{"alerts":{"checkRunningPods":null}}}`, mended: `{"spec":{"alerts":{"checkRunningPods":true}}}`,
		extra: fmt.Sprintf(objectOf, "v1", "Pod", "@id-broken", ", spec: {schedulerName: none, restartPolicy: Never, containers: [{name: a, image: a}]}"),
	},
}

const podTemplate = `selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}`

func podInWay(name string) string {
	return fmt.Sprintf(objectOf, "v1", "Pod", name, ", spec: {schedulerName: none, containers: [{name: a, image: a}]}")
}

// right is a verb on a resource.
type right struct {
	schema.GroupResource
	verb string
}

// TestGeneratedRBACIsMinimal runs samples with exactly the role that templater rbac prints: no permission is missing.
// Then it removes each permission in turn, and expects templater to report it as missing.
func TestGeneratedRBACIsMinimal(t *testing.T) {
	if *rbacSamples == "" {
		t.Skip("it takes minutes: make test-rbac")
	}
	parallel(t)
	root := newScope(t)
	// If the API server supports streaming lists, client-go needs the verb list only as a fallback. Streaming is
	// disabled here.
	op := startOperatorIn(t, []string{"KUBE_FEATURE_WatchListClient=false"}, operatorOf(t))
	for sample := range strings.SplitSeq(*rbacSamples, ",") {
		of, known := roleSamples[sample]
		if !known {
			t.Fatalf("no sample %q", sample)
		}
		root.apply(root.inGroup(read(t, filepath.Join(env.root, "config/samples", sample, "crd.yaml"))))
		whole := &roleRun{scope: root, op: op, sample: sample, roleSample: of}
		rights := whole.rights()
		t.Logf("%s: %d permissions", sample, len(rights))
		for _, without := range append(rights, right{}) {
			t.Run(strings.TrimSpace(sample+" "+without.verb+" "+without.String()), func(t *testing.T) {
				t.Parallel()
				s := newScopeOf(t, root.group)
				(&roleRun{scope: s, op: op.of(s), sample: sample, roleSample: of, without: without}).run()
			})
		}
	}
}

// inGroup replaces the group of a sample's kinds by the scope's.
func (s *scope) inGroup(manifest string) string {
	return strings.NewReplacer("example.org", s.group, "kopf.dev", s.group).Replace(manifest)
}

// roleRun is one run of a sample.
type roleRun struct {
	*scope
	roleSample
	op      *operator
	sample  string
	without right // the removed permission; empty = none
}

// controllerManifest is the sample's TemplateController for parents in the run's namespace.
func (r *roleRun) controllerManifest() string {
	var tc map[string]any
	if err := yaml.Unmarshal([]byte(r.inGroup(read(r.t, filepath.Join(env.root, "config/samples", r.sample, "templatecontroller.yaml")))), &tc); err != nil {
		r.t.Fatal(err)
	}
	tc["metadata"] = map[string]any{"name": r.id}
	spec := tc["spec"].(map[string]any)
	spec["serviceAccountRef"] = map[string]any{"namespace": r.ns, "name": "robot"}
	spec["watch"].(map[string]any)["namespaces"] = []any{r.ns}
	text, err := yaml.Marshal(tc)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// roles returns the output of templater rbac for the service account, except the impersonation rules.
func (r *roleRun) roles() []unstructured.Unstructured {
	command := exec.CommandContext(r.t.Context(), env.binary, "rbac", "-o", "json", "--owner-references-enforced", "-")
	command.Stdin = strings.NewReader(r.controllerManifest() + "---\n" + r.inGroup(read(r.t, filepath.Join(env.root, "config/samples", r.sample, "crd.yaml"))))
	out, err := command.Output()
	if err != nil {
		r.t.Fatalf("templater rbac: %v", err)
	}
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal(out, &list); err != nil {
		r.t.Fatal(err)
	}
	var all []unstructured.Unstructured
	for _, item := range list.Items {
		if o := (unstructured.Unstructured{Object: item}); o.GetName() != "templater-impersonate-robot" && o.GetKind() != "ServiceAccount" {
			all = append(all, o)
		}
	}
	return all
}

// rulesOf returns the rules of a role.
func rulesOf(t *testing.T, o unstructured.Unstructured) []rbacv1.PolicyRule {
	text, err := json.Marshal(o.Object)
	var role rbacv1.Role
	if err == nil {
		err = json.Unmarshal(text, &role)
	}
	if err != nil {
		t.Fatal(err)
	}
	return role.Rules
}

// rights returns all permissions that the sample's roles grant.
func (r *roleRun) rights() []right {
	var all []right
	for _, o := range r.roles() {
		for _, rule := range rulesOf(r.t, o) {
			for _, verb := range rule.Verbs {
				all = append(all, right{schema.GroupResource{Group: rule.APIGroups[0], Resource: rule.Resources[0]}, verb})
			}
		}
	}
	return all
}

// grantRoles applies the roles, without the removed permission.
func (r *roleRun) grantRoles() {
	r.t.Helper()
	for _, o := range r.roles() {
		rules := rulesOf(r.t, o)
		for i, rule := range rules {
			if rule.APIGroups[0] == r.without.Group && rule.Resources[0] == r.without.Resource {
				rules[i].Verbs = slices.DeleteFunc(rule.Verbs, func(verb string) bool { return verb == r.without.verb })
			}
		}
		rules = slices.DeleteFunc(rules, func(rule rbacv1.PolicyRule) bool { return len(rule.Verbs) == 0 })
		if o.Object["rules"] != nil {
			o.Object["rules"] = rules
		}
		text, err := json.Marshal(o.Object)
		if err != nil {
			r.t.Fatal(err)
		}
		r.apply(string(text))
	}
}

// missing returns a condition, an Event, or a log line that reports the removed permission, or "".
func (r *roleRun) missing() string {
	who := regexp.QuoteMeta("service account " + r.ns + "/robot is not allowed to ")
	if r.without.verb != "" { // others may be listed, too: a message lists everything that the parents of some TemplateControllers need
		who += `(?:[a-z, ]* )?` + r.without.verb + `(?:,? [a-z, ]*)? ` + regexp.QuoteMeta(r.without.String()) + " in "
	}
	wanted := regexp.MustCompile(who)
	var texts []string
	if tc, err := env.client.Resource(controllers).Get(r.t.Context(), r.id, getOptions); err == nil {
		for _, c := range conditionsOf(tc) {
			texts = append(texts, "condition "+c.Type+": "+c.Message)
		}
	}
	if list, err := r.in(r.resource(r.parents)).List(r.t.Context(), metav1.ListOptions{}); err == nil {
		for i := range list.Items {
			for _, c := range conditionsOf(&list.Items[i]) {
				texts = append(texts, "condition "+c.Type+" of a parent: "+c.Message)
			}
		}
	}
	if events, err := env.clientset.EventsV1().Events(r.ns).List(r.t.Context(), metav1.ListOptions{}); err == nil {
		for _, e := range events.Items {
			texts = append(texts, "Event: "+e.Note)
		}
	}
	for _, line := range strings.Split(string(linesWith(r.op.logged(), r.ns)), "\n") {
		texts = append(texts, "log: "+line)
	}
	for _, text := range texts {
		if wanted.MatchString(text) {
			return text
		}
	}
	return ""
}

// told is the panic value that ends a run early, because the removed permission was reported.
type told struct{}

// until waits for check, or ends the run once the removed permission is reported.
func (r *roleRun) until(check func() error) {
	r.t.Helper()
	eventually(r.t, soon, func() error {
		text := r.missing()
		switch {
		case text == "":
			return check()
		case r.without.verb == "":
			r.t.Fatalf("the role is too small: %s", text)
		}
		r.t.Log(text)
		panic(told{})
	})
}

// run exercises everything that templater does.
func (r *roleRun) run() {
	defer func() {
		if p := recover(); p != nil && p != (told{}) {
			panic(p)
		}
	}()
	r.impersonates("robot")
	r.grantRoles()
	if r.extra != "" {
		r.apply(r.extra)
		r.patchStatus("@id-broken", `{"status":{"phase":"Failed","containerStatuses":[{"name":"a","image":"a","imageID":"a","ready":false,"restartCount":0,"state":{"terminated":{"exitCode":1,"reason":"Error","containerID":"a://b"}}}]}}`)
	}
	r.apply(r.controllerManifest())
	r.parentNamed("corner")
	r.until(func() error { return r.is("corner", "True", "") })
	for _, resource := range slices.Sorted(maps.Keys(r.inWay)) {
		r.conflict(resource)
	}
	if r.fault != "" {
		r.faults("corner")
	}
	if r.without.Resource == "events" { // reported only while there is something to record about a parent
		r.untilTold()
	}
	if len(r.inWay) > 0 {
		r.leave()
	}
	if r.without.verb != "" {
		r.untilTold()
	}
}

// untilTold waits for the report: some requests and permission checks are made in the background.
func (r *roleRun) untilTold() {
	r.t.Helper()
	r.until(func() error { return fmt.Errorf("nothing has missed the right to %s %s", r.without.verb, r.without) })
}

// parentNamed creates a parent.
func (r *roleRun) parentNamed(name string) {
	r.t.Helper()
	r.apply(strings.ReplaceAll(r.parent, "@name", name))
}

// is returns an error unless the ready condition of a parent has that status and reason; "" matches any.
func (r *roleRun) is(name, status, reason string) error {
	o, err := r.in(r.resource(r.parents)).Get(r.t.Context(), name, getOptions)
	if err != nil {
		return err
	}
	return condition(o, "Ready", status, reason)
}

// conflict creates a conflicting object for a child, twice.
func (r *roleRun) conflict(resource string) {
	r.t.Helper()
	name := "in-the-way-of-" + resource
	there := func() {
		r.apply(strings.ReplaceAll(r.inWay[resource], "@name", name))
	}
	there()
	r.parentNamed(name)
	r.until(func() error { return r.is(name, "False", "ChildConflict") })
	if r.without.verb != "" && r.without.Resource != "events" {
		return
	}
	// Again: the Event exists already.
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(r.inWay[resource], "@name", name)), &object.Object); err != nil {
		r.t.Fatal(err)
	}
	in, _, err := r.interfaceFor(object)
	if err != nil {
		r.t.Fatal(err)
	}
	r.delete(in, object.GetName())
	eventually(r.t, soon, func() error { // deleted, or already a child
		o, err := in.Get(r.t.Context(), object.GetName(), getOptions)
		if err == nil && o.GetLabels()["templater.dev/controller"] != r.id {
			return fmt.Errorf("%s is still there", object.GetName())
		}
		return nil
	})
	r.patch(r.in(r.resource(r.parents)), name, `{"metadata":{"annotations":{"look":"again"}}}`) // instead of waiting half a minute
	r.until(func() error {
		o, err := in.Get(r.t.Context(), object.GetName(), getOptions)
		if err == nil && o.GetLabels()["templater.dev/controller"] != r.id {
			err = errors.New("the child is not there")
		}
		return errors.Join(err, r.is(name, "True", ""))
	})
	r.patchController(`{"spec":{"suspend":true}}`)
	r.until(func() error {
		tc, err := env.client.Resource(controllers).Get(r.t.Context(), r.id, getOptions)
		if err != nil {
			return err
		}
		return condition(tc, "Ready", "False", "Suspended")
	})
	r.delete(in, object.GetName())
	waitGone(r.t, in, object.GetName())
	there()
	r.patchController(`{"spec":{"suspend":false}}`)
	r.until(func() error { return r.is(name, "False", "ChildConflict") })
}

// faults makes a parent fail twice.
func (r *roleRun) faults(name string) {
	r.t.Helper()
	for _, step := range []struct{ patch, status string }{{r.fault, "False"}, {r.mended, "True"}, {r.fault, "False"}} {
		r.patch(r.in(r.resource(r.parents)), name, step.patch)
		r.until(func() error { return r.is(name, step.status, "") })
	}
}

// leave makes the parents stop matching, so that their children are deleted.
func (r *roleRun) leave() {
	r.t.Helper()
	r.patchController(`{"spec":{"watch":{"labelSelector":{"matchLabels":{"stay":"yes"}}}}}`)
	r.until(func() error {
		for resource, manifest := range r.inWay {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
				r.t.Fatal(err)
			}
			in, _, err := r.interfaceFor(object)
			if err != nil {
				return err
			}
			if left := r.list(in, "templater.dev/controller=@id"); len(left) > 0 {
				return fmt.Errorf("%d %s are left", len(left), resource)
			}
		}
		return nil
	})
}

// patchStatus writes the status of a Pod, as a kubelet would.
func (r *roleRun) patchStatus(name, patch string) {
	r.t.Helper()
	_, err := r.in(pods).Patch(r.t.Context(), r.expand(name), types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	if err != nil {
		r.t.Fatal(err)
	}
}
