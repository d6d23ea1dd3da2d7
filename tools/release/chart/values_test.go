package chart

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Error messages for invalid values.
func TestInvalidValuesAreRejected(t *testing.T) {
	long := strings.Repeat("a", 300)
	for values, want := range map[string]string{
		"replica: 3":                                                     "additional properties 'replica' not allowed",
		"replicas: 0":                                                    "at '/replicas': minimum: got 0, want 1",
		"replicas: 1000000":                                              "at '/replicas': maximum: got 1×10⁰⁶, want 10",
		`replicas: "2"`:                                                  "at '/replicas': got string, want integer",
		"image: {repository: a b}":                                       "at '/image/repository': 'a b' does not match pattern",
		"image: {repository: " + long + "}":                              "at '/image/repository': maxLength: got 300, want 255",
		"image: {repository: 'mirror:5000/t:v1'}":                        "image.repository has a tag: give that as image.tag",
		"image: {digest: latest}":                                        "at '/image/digest': 'latest' does not match pattern '^sha256:[0-9a-f]{64}$'",
		"image: {tag: a b}":                                              "at '/image/tag'",
		"image: {tag: .a}":                                               "at '/image/tag'",
		"image: {pullPolicy: Sometimes}":                                 "at '/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'",
		"imagePullSecrets: [a]":                                          "at '/imagePullSecrets/0': got string, want object",
		"imagePullSecrets: [{name: A}]":                                  "at '/imagePullSecrets/0/name': 'A' does not match pattern",
		"resources: {limits: {memory: 512M}}":                            "at '/resources/limits/memory': '512M' does not match pattern '^[1-9][0-9]{0,5}(Mi|Gi)$'",
		"resources: {limits: {memory: 1000000Gi}}":                       "at '/resources/limits/memory'",
		"resources: {limits: {memory: 1Mi}}":                             "resources.limits.memory: 1Mi is too little: templater takes 40 MiB before it has read an object. Give 64Mi or more",
		"resources: {limits: {memory: 63Mi}}":                            "resources.limits.memory: 63Mi is too little",
		"resources: {limits: {cpu: much}}":                               "at '/resources/limits/cpu': 'much' does not match pattern",
		"resources: {requests: {cpu: -1}}":                               "at '/resources/requests/cpu': minimum: got -1, want 0",
		"resources: {memory: 1Gi}":                                       "at '/resources': additional properties 'memory' not allowed",
		"className: B":                                                   "at '/className': 'B' does not match pattern",
		"sealNamespace: a.b":                                             "at '/sealNamespace': 'a.b' does not match pattern",
		"sealNamespace: " + long:                                         "at '/sealNamespace': maxLength: got 300, want 63",
		`accounts: {b: "x', 'c': 'y/z"}`:                                 `at '/accounts/b': 'x\', \'c\': \'y/z' does not match pattern`,
		`accounts: {"b'": y/z}`:                                          `at '/accounts': additional properties 'b\'' not allowed`,
		"requireServiceAccount: sometimes":                               "at '/requireServiceAccount': got string, want boolean",
		"extraArgs: [run]":                                               "at '/extraArgs/0': 'run' does not match pattern",
		"extraArgs: ['--class-name=b']":                                  "extraArgs: other objects of the chart have to know --class-name, too: give it as the value className",
		"extraArgs: [--require-service-account]":                         "give it as the value requireServiceAccount",
		"nodeSelector: {a: true}":                                        "at '/nodeSelector/a': got boolean, want string",
		"nodeSelector: {a b: c}":                                         "at '/nodeSelector': additional properties 'a b' not allowed",
		"nodeSelector: {a: b c}":                                         "at '/nodeSelector/a': 'b c' does not match pattern",
		"tolerations: [{key: a, operator: Is}]":                          "at '/tolerations/0/operator': value must be one of 'Exists', 'Equal', 'Lt', 'Gt'",
		"tolerations: [{tolerationSeconds: -1}]":                         "at '/tolerations/0/tolerationSeconds': minimum: got -1, want 0",
		"tolerations: [{taint: a}]":                                      "at '/tolerations/0': additional properties 'taint' not allowed",
		"priorityClassName: High":                                        "at '/priorityClassName'",
		"crd: {keep: true}":                                              "at '/crd': additional properties 'keep' not allowed",
		"permissions: [{apiGroups: [a], verbs: [get]}]":                  "at '/permissions/0': missing property 'resources'",
		`permissions: [{apiGroups: [""], resources: [pods], verbs: []}]`: "at '/permissions/0/verbs': minItems: got 0, want 1",
		`permissions: [{apiGroups: [""], resources: [pods], verbs: ["a b"]}]`: "at '/permissions/0/verbs/0': 'a b' does not match pattern",
		`permissions: [{nonResourceURLs: [/metrics], verbs: [get]}]`:          "additional properties 'nonResourceURLs' not allowed",
	} {
		if _, err := render(t, "templater-system", values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %s", values, err, want)
		}
	}
}

func TestCommonValuesAreAccepted(t *testing.T) {
	for _, values := range []string{
		"image: {repository: 'registry.example.org:5000/some/templater'}",
		"resources: {limits: {memory: 64Mi, cpu: 1.5, ephemeral-storage: 1Gi}, requests: {memory: 64Mi, cpu: 10m}}",
		"resources: {requests: null}",
		"nodeSelector: {node-role.kubernetes.io/control-plane: ''}",
		"tolerations: [{operator: Exists}, {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 10}]",
		`permissions: [{apiGroups: ["", apps], resources: ["deployments/scale", "*"], resourceNames: [a], verbs: ["*"]}]`,
		`extraArgs: [--log-level=verbose, "--kube-qps=5", --webhook-bind-address=]`,
		"global: {anything: true}",
	} {
		if _, err := render(t, "templater-system", values); err != nil {
			t.Errorf("%s: got error %v", values, err)
		}
	}
}

// A value without bounds is an oversight.
func TestEveryValueIsBounded(t *testing.T) {
	text, err := static.ReadFile("static/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	schema["properties"].(map[string]any)["global"] = map[string]any{"type": "boolean"} // not used by the chart
	unbounded(t, "values", schema)
}

// unbounded reports the schemas without bounds at and below schema.
func unbounded(t *testing.T, where string, schema map[string]any) {
	t.Helper()
	needs := map[string][]string{"string": {"pattern"}, "integer": {"minimum", "maximum"}, "array": {"maxItems", "items"}}
	types, _ := schema["type"].([]any)
	for _, one := range append(types, schema["type"]) {
		name, _ := one.(string)
		for _, need := range needs[name] {
			if schema[need] == nil {
				t.Errorf("%s: a %s without %s", where, name, need)
			}
		}
		if name == "object" && schema["additionalProperties"] == nil {
			t.Errorf("%s: an object with any properties", where)
		}
		more, _ := schema["additionalProperties"].(map[string]any)
		if (more != nil || schema["patternProperties"] != nil) && schema["maxProperties"] == nil {
			t.Errorf("%s: an object with as many properties as one likes", where)
		}
	}
	for key, below := range schema {
		if below, _ := below.(map[string]any); below != nil {
			if slices.Contains([]string{"properties", "patternProperties", "definitions"}, key) {
				for name, one := range below {
					unbounded(t, fmt.Sprint(where, ".", name), one.(map[string]any))
				}
			} else {
				unbounded(t, fmt.Sprint(where, ".", key), below)
			}
		}
	}
}
