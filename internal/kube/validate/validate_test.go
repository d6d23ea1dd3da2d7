package validate

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/openapi"
)

const (
	configMap1  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n"
	deployment1 = `apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: web, image: nginx}]}
`
	job = `apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: default}
spec:
  backoffLimit: 1
  template:
    spec: {restartPolicy: Never, containers: [{name: web, image: nginx, command: [a]}]}
`
	claim1 = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a, namespace: default}
spec: {accessModes: [ReadWriteOnce], storageClassName: slow, resources: {requests: {storage: 2Gi}}}
`
	set = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a, namespace: default}
spec:
  serviceName: a
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: web, image: nginx}]}
`
	service1 = "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: default}\nspec: {clusterIP: 10.0.0.1, ports: [{port: 80}]}\n"
	secret1  = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: default}\ntype: Opaque\ndata: {a: aGVsbG8=}\n"
	binding  = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: 'a:b', namespace: default}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}\n"
	route    = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: a, namespace: default}
spec: {rules: [{host: example.org, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}]}}]}
`
)

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(content); err != nil {
		t.Fatal(err)
	}
	return o.Object
}

// refused returns the response to a write, or nil.
func refused(w Write) error {
	w.Kind = schema.FromAPIVersionAndKind(w.After["apiVersion"].(string), w.After["kind"].(string))
	known, _ := kind.Declared{}.Resolve(w.Kind)
	w.Namespaced = known.Namespaced
	t, _ := openapi.BuiltIn().Lookup(w.Kind)
	return BuiltIn(w, t)
}

func edit(t *testing.T, text, old, with string) string {
	t.Helper()
	if old != "" && !strings.Contains(text, old) {
		t.Fatalf("there is no %q in %s", old, text)
	}
	return strings.Replace(text, old, with, 1)
}

func TestCreatesThatServersRefuse(t *testing.T) {
	for why, row := range map[string]struct{ base, old, with, want string }{
		"valid ConfigMap":                {configMap1, "", "", ""},
		"valid Deployment":               {deployment1, "", "", ""},
		"valid Job":                      {job, "", "", ""},
		"valid claim":                    {claim1, "", "", ""},
		"valid StatefulSet":              {set, "", "", ""},
		"valid Service":                  {service1, "", "", ""},
		"valid Secret":                   {secret1, "", "", ""},
		"name of a role with a colon":    {binding, "", "", ""},
		"valid Ingress":                  {route, "", "", ""},
		"text for a number":              {deployment1, "replicas: 1", "replicas: three", ".spec.replicas: expected numeric"},
		"fraction":                       {deployment1, "replicas: 1", "replicas: 1.5", "unable to convert"},
		"number beyond 32 bits":          {deployment1, "replicas: 1", "replicas: 3000000000", "must be greater than or equal to 0"},
		"negative number":                {deployment1, "replicas: 1", "replicas: -1", "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		"number for text":                {configMap1, "", "data: {a: 1}\n", ".data.a: expected string"},
		"list for a map":                 {deployment1, "{app: a}}\n  template", "[a]}\n  template", ".spec.selector.matchLabels: expected map"},
		"unknown field":                  {deployment1, "image: nginx", "imge: nginx", ".spec.template.spec.containers[name=\"web\"].imge: field not declared in schema"},
		"upper case in a name":           {configMap1, "name: a", "name: Bad_Name", "metadata.name: Invalid value"},
		"upper case in a label":          {configMap1, "name: a,", "name: a, labels: {a: -x},", "metadata.labels: Invalid value"},
		"key of an annotation":           {configMap1, "name: a,", "name: a, annotations: {a b: x},", "metadata.annotations: Invalid value"},
		"long name of a CronJob":         {edit(t, "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: NAME, namespace: default}\nspec: {schedule: '@daily', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}", "NAME", strings.Repeat("a", 53)), "", "", "must be no more than 52 characters"},
		"no namespace":                   {configMap1, ", namespace: default", "", "metadata.namespace: Required value"},
		"data that is no base64":         {secret1, "aGVsbG8=", "hello world", "illegal base64 data"},
		"Secret without a key":           {secret1, "Opaque", "kubernetes.io/tls", "data[tls.crt]: Required value"},
		"no selector":                    {deployment1, "  selector: {matchLabels: {app: a}}\n", "", "spec.selector: Required value"},
		"empty selector":                 {deployment1, "{matchLabels: {app: a}}", "{}", "empty selector is invalid for deployment"},
		"selector of other labels":       {deployment1, "labels: {app: a}", "labels: {app: b}", "`selector` does not match template `labels`"},
		"no containers":                  {deployment1, "[{name: web, image: nginx}]", "[]", "spec.template.spec.containers: Required value"},
		"no image":                       {deployment1, ", image: nginx", "", "spec.template.spec.containers[0].image: Required value"},
		"two containers of a name":       {deployment1, "image: nginx}", "image: nginx}, {name: web, image: x}", "duplicate entries for key"},
		"two ports with a default key":   {service1, "[{port: 80}]", "[{name: a, port: 80}, {name: b, port: 80, protocol: TCP}]", ".spec.ports: duplicate entries for key"},
		"restart policy of a Deployment": {deployment1, "{containers", "{restartPolicy: Never, containers", "spec.template.spec.restartPolicy: Unsupported value"},
		"no restart policy of a Job":     {job, "restartPolicy: Never, ", "", "spec.template.spec.restartPolicy: Required value"},
		"word that is not allowed":       {job, "image: nginx", "image: nginx, imagePullPolicy: Sometimes", "imagePullPolicy: Unsupported value"},
		"unreadable quantity":            {claim1, "2Gi", "2 Gi", "quantities must match the regular expression"},
		"no storage":                     {claim1, "storage: 2Gi", "cpu: 1", "spec.resources[storage]: Required value"},
		"request above the limit":        {deployment1, "image: nginx", "image: nginx, resources: {requests: {cpu: 2}, limits: {cpu: 1}}", "must be less than or equal to cpu limit of 1"},
		"volume that does not exist":     {deployment1, "image: nginx", "image: nginx, volumeMounts: [{name: x, mountPath: /x}]", "volumeMounts[0].name: Not found"},
		"no type of a path":              {route, ", pathType: Prefix", "", "spec.rules[0].http.paths[0].pathType: Required value"},
		"no backend":                     {route, "service: {name: a, port: {number: 80}}", "", "resource or service backend is required"},
		"port out of range":              {service1, "port: 80", "port: 70000", "must be between 1 and 65535"},
		"no port":                        {service1, "port: 80", "name: http", "spec.ports[0].port: Invalid value"},
		"ports without names":            {service1, "{port: 80}", "{port: 80}, {port: 81}", "spec.ports[0].name: Required value"},
		"kind of a role":                 {binding, "kind: Role,", "kind: Rule,", "roleRef.kind: Unsupported value"},
		"schedule":                       {"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a, namespace: default}\nspec: {schedule: daily, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}", "", "", "expected exactly 5 fields, found 1"},
	} {
		t.Run(why, func(t *testing.T) {
			content := parse(t, edit(t, row.base, row.old, row.with)+map[bool]string{true: row.with}[row.old == ""])
			check(t, refused(Write{Sent: content, After: content}), row.want)
		})
	}
}

func check(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestUpdatesThatServersRefuse(t *testing.T) {
	immutable := "field is immutable"
	for why, row := range map[string]struct{ before, old, with, want string }{
		"replicas of a Deployment":      {deployment1, "replicas: 1", "replicas: 2", ""},
		"image of a Deployment":         {deployment1, "nginx", "nginx:2", ""},
		"template of a Job":             {job, "nginx", "nginx:2", immutable},
		"removed command of a Job":      {job, ", command: [a]", "", immutable},
		"backoff limit of a Job":        {job, "backoffLimit: 1", "backoffLimit: 2", ""},
		"template of a suspended Job":   {strings.Replace(job, "backoffLimit: 1", "suspend: true", 1), "nginx", "nginx:2", ""},
		"class of a claim":              {claim1, "slow", "fast", "spec is immutable after creation"},
		"smaller claim":                 {claim1, "2Gi", "1Gi", "can not be less"},
		"larger claim that is unbound":  {claim1, "2Gi", "3Gi", "spec is immutable after creation"},
		"larger claim":                  {claim1 + "status: {phase: Bound}\n", "2Gi", "3Gi", ""},
		"service of a StatefulSet":      {set, "serviceName: a", "serviceName: b", "updates to statefulset spec"},
		"image of a StatefulSet":        {set, "nginx", "nginx:2", ""},
		"address of a Service":          {service1, "10.0.0.1", "10.0.0.2", "may not change once set"},
		"address that is no longer set": {service1, "clusterIP: 10.0.0.1, ", "", ""},
		"type of a Secret":              {secret1, "Opaque", "example.org/other", immutable},
		"data of a Secret":              {secret1, "aGVsbG8=", "aGVsbG9v", ""},
		"data of an immutable Secret":   {secret1 + "immutable: true\n", "aGVsbG8=", "aGVsbG9v", "immutable when `immutable` is set"},
		"role of a binding":             {binding, "name: a}", "name: b}", immutable},
	} {
		t.Run(why, func(t *testing.T) {
			before, after := parse(t, row.before), parse(t, edit(t, row.before, row.old, row.with))
			check(t, refused(Write{Sent: after, Before: before, After: after, Whole: true}), row.want)
		})
	}
	t.Run("selector of a Deployment", func(t *testing.T) {
		after := parse(t, strings.ReplaceAll(deployment1, "app: a", "app: b"))
		check(t, refused(Write{Sent: after, Before: parse(t, deployment1), After: after, Whole: true}), "spec.selector: Invalid value")
	})
}

// An object in a file can be incomplete, or have defaults of a server.
func TestUpdatesOfObjectsFromFiles(t *testing.T) {
	withDefaults := strings.Replace(job, "image: nginx", "image: nginx, imagePullPolicy: Always", 1)
	for why, row := range map[string]struct{ before, after, want string }{
		"defaults of a server":              {withDefaults, job, ""},
		"defaults of a server and a change": {withDefaults, strings.Replace(job, "nginx", "nginx:2", 1), "field is immutable"},
		"a Job without template":            {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, namespace: default}\nstatus: {succeeded: 1}\n", job, ""},
		"a fault that was there before":     {strings.Replace(deployment1, ", image: nginx", "", 1), strings.Replace(deployment1, ", image: nginx", "", 1), ""},
	} {
		t.Run(why, func(t *testing.T) {
			after := parse(t, row.after)
			check(t, refused(Write{Sent: after, Before: parse(t, row.before), After: after}), row.want)
		})
	}
}

// FuzzBuiltIn sends any values in any fields: there is a verdict without a panic, and the object is not changed.
func FuzzBuiltIn(f *testing.F) {
	for _, text := range []string{configMap1, deployment1, job, claim1, set, service1, secret1, binding, route} {
		f.Add(text, text)
	}
	f.Add("apiVersion: v1\nkind: Pod\nspec: {containers: [1, null, {ports: [null]}], volumes: 3}\n", "apiVersion: v1\nkind: Pod\nspec: null\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		var contents []map[string]any
		for _, text := range []string{before, after} {
			o := &unstructured.Unstructured{}
			content, err := yaml.YAMLToJSON([]byte(text))
			if err != nil || o.UnmarshalJSON(content) != nil {
				t.Skip()
			}
			contents = append(contents, o.Object)
		}
		known, _ := openapi.BuiltIn().Lookup(schema.FromAPIVersionAndKind(contents[1]["apiVersion"].(string), contents[1]["kind"].(string)))
		if known == nil {
			t.Skip()
		}
		_ = refused(Write{Sent: contents[1], Before: contents[0], After: contents[1]})
		_ = refused(Write{Sent: runtime.DeepCopyJSON(contents[1]), After: contents[1], Whole: true})
	})
}

func BenchmarkBuiltIn(b *testing.B) {
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(deployment1), &content); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := refused(Write{Sent: content, After: content}); err != nil {
			b.Fatal(err)
		}
	}
}
