package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// accepted is a valid spec; rows replace parts of it.
const accepted = `
watch: {apiVersion: example.org/v1, kind: Nothing}
children:
- name: one
  template: "x: y"
`

// related is an additional field of a spec.
const related = "related:\n- {name: pods, apiVersion: v1, kind: Pod}\n"

// many is a list of n namespaces.
func many(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint("n", i))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func TestAPIServerRejectsInvalidSpecs(t *testing.T) {
	parallel(t)
	s := newScope(t)
	long := strings.Repeat("n", 64)
	for _, row := range []struct{ what, name, spec, want string }{
		{"two children of one name", "@id", accepted + "- name: one\n  template: 'x: z'\n",
			`failed to create typed patch object (/@id; templater.dev/v1, Kind=TemplateController): .spec.children: duplicate entries for key [name="one"]`},
		{"a name that is no identifier", "@id", strings.Replace(accepted, "name: one", "name: my-pods", 1),
			`TemplateController.templater.dev "@id" is invalid: spec.children[0].name: Invalid value: "my-pods": spec.children[0].name in body should match '^[a-z][a-zA-Z0-9]*$'`},
		{"a name of over 63 characters", long, accepted,
			`TemplateController.templater.dev "` + long + `" is invalid: <nil>: Invalid value: metadata.name must be at most 63 characters: it becomes the value of a label on each child`},
		{"an empty template", "@id", strings.Replace(accepted, `"x: y"`, `""`, 1),
			`TemplateController.templater.dev "@id" is invalid: [spec.children[0].template: Invalid value: "": spec.children[0].template in body should be at least 1 chars long, spec.children[0].template: Invalid value: "": the template is empty]`},
		{"a template of blanks", "@id", strings.Replace(accepted, `"x: y"`, `"  "`, 1),
			`TemplateController.templater.dev "@id" is invalid: spec.children[0].template: Invalid value: "  ": the template is empty`},
		{"a dependency twice", "@id", accepted + "  dependsOn: [two, two]\n",
			`failed to create typed patch object (/@id; templater.dev/v1, Kind=TemplateController): .spec.children[name="one"].dependsOn: duplicate entries for key [="two"]`},
		{"a dependency that is no identifier", "@id", accepted + "  dependsOn: [my-pods]\n",
			`TemplateController.templater.dev "@id" is invalid: spec.children[0].dependsOn[0]: Invalid value: "my-pods": spec.children[0].dependsOn[0] in body should match '^[a-z][a-zA-Z0-9]*$'`},
		{"a readyWhen that is too long", "@id", accepted + "  readyWhen: " + strings.Repeat("n", 4097) + "\n",
			`TemplateController.templater.dev "@id" is invalid: [spec.children[0].readyWhen: Too long: may not be more than 4096 bytes, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]`},
		{"an unknown strategy", "@id", accepted + "  updateStrategy: {type: Replace}\n",
			`TemplateController.templater.dev "@id" is invalid: [spec.children[0].updateStrategy.type: Unsupported value: "Replace": supported values: "Apply", "Recreate", "CreateOnly", "OnDelete", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]`},
		{"rollingUpdate with OnDelete", "@id", accepted + "  updateStrategy: {type: OnDelete, rollingUpdate: {}}\n",
			`TemplateController.templater.dev "@id" is invalid: spec.children[0].updateStrategy: Invalid value: rollingUpdate requires type Apply or Recreate: CreateOnly and OnDelete never update objects`},
		{"a rollout of none at a time", "@id", accepted + "  updateStrategy: {rollingUpdate: {maxUnavailable: 0}}\n",
			`TemplateController.templater.dev "@id" is invalid: spec.children[0].updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: must be a number from 1 to 2000, or a percentage such as 25%`},
		{"a rollout of more than there can be", "@id", accepted + "  updateStrategy: {rollingUpdate: {maxUnavailable: 2001}}\n",
			`TemplateController.templater.dev "@id" is invalid: spec.children[0].updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 2001: must be a number from 1 to 2000, or a percentage such as 25%`},
		{"a rollout of no percentage", "@id", accepted + "  updateStrategy: {rollingUpdate: {maxUnavailable: 0%}}\n",
			`TemplateController.templater.dev "@id" is invalid: spec.children[0].updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "0%": spec.children[0].updateStrategy.rollingUpdate.maxUnavailable in body should match '^([1-9][0-9]?|100)%$'`},
		{"an unknown prune policy", "@id", accepted + "  prunePolicy: Keep\n",
			`TemplateController.templater.dev "@id" is invalid: [spec.children[0].prunePolicy: Unsupported value: "Keep": supported values: "Delete", "Orphan", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]`},
		{"an unknown scope", "@id", accepted + "  scope: Global\n",
			`TemplateController.templater.dev "@id" is invalid: [spec.children[0].scope: Unsupported value: "Global": supported values: "Namespaced", "Cluster", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]`},
		{"two related entries of one name", "@id", accepted + related + related[len("related:\n"):],
			`failed to create typed patch object (/@id; templater.dev/v1, Kind=TemplateController): .spec.related: duplicate entries for key [name="pods"]`},
		{"a related entry without kind", "@id", accepted + strings.Replace(related, ", kind: Pod", "", 1),
			`TemplateController.templater.dev "@id" is invalid: [spec.related[0].kind: Required value, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]`},
		{"a path that is empty", "@id", accepted + strings.Replace(related, "kind: Pod", "kind: Pod, watchFields: ['']", 1),
			`TemplateController.templater.dev "@id" is invalid: spec.related[0].watchFields[0]: Invalid value: "": spec.related[0].watchFields[0] in body should be at least 1 chars long`},
		{"watches without end", "@id", accepted + "related: [{name: one, apiVersion: v1, kind: Pod, namespaces: " + many(65) + "}, {name: two, apiVersion: v1, kind: Pod, namespaces: " + many(64) + "}]\n",
			`TemplateController.templater.dev "@id" is invalid: spec.related: Invalid value: the namespaces of all entries list more than 128 names: use namespaceSelector, or split the TemplateController`},
		{"nothing to do", "@id", "watch: {apiVersion: example.org/v1, kind: Nothing}\n",
			`TemplateController.templater.dev "@id" is invalid: spec: Invalid value: at least one of children and status.template is required`},
		{"no kind", "@id", "watch: {apiVersion: example.org/v1}\nstatus: {template: 'a: b'}\n",
			`TemplateController.templater.dev "@id" is invalid: [spec.watch.kind: Required value, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]`},
		{"a resync period without unit", "@id", accepted + "resyncPeriod: '10'\n",
			`TemplateController.templater.dev "@id" is invalid: spec.resyncPeriod: Invalid value: "10": spec.resyncPeriod in body should match '^([0-9]{1,5}(h|m|s|ms)){1,4}$'`},
		{"a resync period of less than a second", "@id", accepted + "resyncPeriod: 999ms\n",
			`TemplateController.templater.dev "@id" is invalid: spec.resyncPeriod: Invalid value: "999ms": must be at least 1s, or 0s for never`},
		{"a finalize that does nothing", "@id", accepted + "finalize: {timeout: 5m}\n",
			`TemplateController.templater.dev "@id" is invalid: spec.finalize: Invalid value: nothing to do: set order to Reverse, or set children`},
		{"an order that there is not", "@id", accepted + "finalize: {order: Random}\n",
			`TemplateController.templater.dev "@id" is invalid: [spec.finalize.order: Unsupported value: "Random": supported values: "None", "Reverse", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]`},
		{"a timeout of less than a second", "@id", accepted + "finalize: {order: Reverse, timeout: 999ms}\n",
			`TemplateController.templater.dev "@id" is invalid: spec.finalize.timeout: Invalid value: "999ms": must be at least 1s, or 0s to disable it`},
		{"an onTimeout, which was removed", "@id", accepted + "finalize: {order: Reverse, onTimeout: Block}\n",
			`TemplateController.templater.dev "@id" is invalid: spec.finalize.onTimeout: Invalid value: onTimeout is no longer supported: the finalizer is always removed when timeout expires. To wait without a limit, as with Block, also remove timeout`},
		{"logs of a kind other than Pod", "@id", accepted + "related: [{name: one, apiVersion: batch/v1, kind: Job, logs: {}}]\n",
			`TemplateController.templater.dev "@id" is invalid: spec.related[0].logs: Invalid value: logs is only allowed for Pods: remove logs, or set apiVersion: v1 and kind: Pod`},
		{"logs of no lines", "@id", accepted + "related: [{name: one, apiVersion: v1, kind: Pod, logs: {tailLines: 0}}]\n",
			`TemplateController.templater.dev "@id" is invalid: spec.related[0].logs.tailLines: Invalid value: 0: spec.related[0].logs.tailLines in body should be greater than or equal to 1`},
		{"logs of too many lines", "@id", accepted + "related: [{name: one, apiVersion: v1, kind: Pod, logs: {tailLines: 1001}}]\n",
			`TemplateController.templater.dev "@id" is invalid: spec.related[0].logs.tailLines: Invalid value: 1001: spec.related[0].logs.tailLines in body should be less than or equal to 1000`},
		{"logs of too many bytes", "@id", accepted + "related: [{name: one, apiVersion: v1, kind: Pod, logs: {limitBytes: 16385}}]\n",
			`TemplateController.templater.dev "@id" is invalid: spec.related[0].logs.limitBytes: Invalid value: 16385: spec.related[0].logs.limitBytes in body should be less than or equal to 16384`},
		{"previous logs that are no boolean", "@id", accepted + "related: [{name: one, apiVersion: v1, kind: Pod, logs: {previous: 'yes'}}]\n",
			`failed to create typed patch object (/@id; templater.dev/v1, Kind=TemplateController): .spec.related[name="one"].logs.previous: expected boolean, got &{yes}`},
		{"a field that does not exist", "@id", accepted + "childs: []\n",
			`failed to create typed patch object (/@id; templater.dev/v1, Kind=TemplateController): .spec.childs: field not declared in schema`},
	} {
		t.Run(row.what, func(t *testing.T) {
			s := s.at(t)
			err := s.tryApply("apiVersion: templater.dev/v1\nkind: TemplateController\nmetadata: {name: \"" + row.name + "\"}\nspec:\n" + indent(row.spec))
			if err == nil {
				t.Fatal("the API server has accepted it")
			}
			if diff := cmp.Diff(row.want, strings.ReplaceAll(err.Error(), s.id, "@id")); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAPIServerAcceptsStoredOnTimeoutDefault: an upgrade does not reject a TemplateController that has the default
// stored.
func TestAPIServerAcceptsStoredOnTimeoutDefault(t *testing.T) {
	parallel(t)
	newScope(t).applyController("@id", accepted+"finalize: {order: Reverse, timeout: 5m, onTimeout: Continue}\n")
}

func TestWatchedKindIsImmutable(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.applyController("@id", accepted)
	for _, row := range []struct{ what, watch, want string }{
		{"another kind", `{apiVersion: example.org/v1, kind: Something}`,
			`TemplateController.templater.dev "@id" is invalid: spec.watch: Invalid value: kind is immutable: delete this TemplateController and create another`},
		{"another group", `{apiVersion: example.com/v1, kind: Nothing}`,
			`TemplateController.templater.dev "@id" is invalid: spec.watch: Invalid value: the group in apiVersion is immutable (the version may change): delete this TemplateController and create another`},
		{"the core group", `{apiVersion: v1, kind: Nothing}`,
			`TemplateController.templater.dev "@id" is invalid: spec.watch: Invalid value: the group in apiVersion is immutable (the version may change): delete this TemplateController and create another`},
		{"another version", `{apiVersion: example.org/v2, kind: Nothing}`, ``},
	} {
		err := s.tryApply("{apiVersion: templater.dev/v1, kind: TemplateController, metadata: {name: \"@id\"}, spec: {watch: " + row.watch +
			", children: [{name: one, template: 'x: y'}]}}")
		got := ""
		if err != nil {
			got = strings.ReplaceAll(err.Error(), s.id, "@id")
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s: message (-want +got):\n%s", row.what, diff)
		}
	}
}

func TestKubectlExplain(t *testing.T) {
	parallel(t)
	for _, row := range []struct {
		field string
		words []string
	}{
		{"templatecontroller", []string{"GROUP:      templater.dev", "KIND:       TemplateController", "it creates child objects and writes the"}},
		{"templatecontroller.spec", []string{"FIELDS:", "  watch\t", "  children\t", "  status\t", "  suspend\t", "  resyncPeriod\t", "  whenDeleted\t"}},
		{"templatecontroller.spec.watch", []string{"  apiVersion\t<string> -required-", "  kind\t<string> -required-", "  labelSelector\t", "Selects parents by their labels."}},
		{"templatecontroller.spec.children", []string{"DESCRIPTION:", "The child templates: each renders objects", "  name\t<string> -required-", "  template\t<string> -required-", "  updateStrategy\t", "  prunePolicy\t", "  deletionPolicy\t", "A Go template that renders", "enum: Delete, Orphan"}},
		{"templatecontroller.spec.children.updateStrategy", []string{"enum: Apply, Recreate, CreateOnly, OnDelete", "Recreate deletes all outdated objects"}},
	} {
		var text string
		eventually(t, soon, func() (err error) { // the schema of a new CRD is published with a delay
			text, err = env.command(t.Context(), "", "explain", row.field)
			return err
		})
		for _, word := range row.words {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(word), " ")) {
				t.Errorf("kubectl explain %s does not say %q:\n%s", row.field, word, text)
			}
		}
		if strings.Contains(text, "<no description>") {
			t.Errorf("kubectl explain %s has a field without description:\n%s", row.field, text)
		}
	}
}
