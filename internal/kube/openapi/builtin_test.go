package openapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestUnpackRejectsDamagedData(t *testing.T) {
	for why, packed := range map[string][]byte{"not compressed": []byte("{}"), "cut off": builtInText[:len(builtInText)/2]} {
		if _, err := unpack(packed); err == nil {
			t.Errorf("%s: no error", why)
		}
	}
}

func TestBuiltInKindsHaveTheirEnums(t *testing.T) {
	pod, _ := BuiltIn().Lookup(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	claim, _ := BuiltIn().Lookup(schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"})
	definition, _ := BuiltIn().Lookup(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	for want, field := range map[string]*Type{
		"Always IfNotPresent Never":                                 pod.Fields["spec"].Type.Fields["containers"].Type.Items.Fields["imagePullPolicy"].Type,
		"ReadOnlyMany ReadWriteMany ReadWriteOnce ReadWriteOncePod": claim.Fields["spec"].Type.Fields["accessModes"].Type.Items,
		"FieldValueDuplicate FieldValueForbidden FieldValueInvalid FieldValueRequired": definition.Fields["spec"].Type.Fields["versions"].Type.Items.Fields["schema"].Type.
			Fields["openAPIV3Schema"].Type.Fields["x-kubernetes-validations"].Type.Items.Fields["reason"].Type,
	} {
		if got := strings.Join(field.Enum, " "); got != want {
			t.Errorf("one of %q, want %q", got, want)
		}
	}
}

func BenchmarkBuiltIn(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := unpack(builtInText); err != nil {
			b.Fatal(err)
		}
	}
}

func TestLookupOfUnknownBuiltInKind(t *testing.T) {
	set := BuiltIn()
	for _, row := range []struct {
		group, version, kind string
		known, exists        bool
	}{
		{"apps", "v1", "Deployment", true, true},
		{"", "v1", "ConfigMap", true, true},
		{"apiextensions.k8s.io", "v1", "CustomResourceDefinition", true, true},
		{"apps", "v1", "Deploymnet", false, false},
		{"apps", "v1beta1", "Deployment", false, false},
		{"apps", "v1", "DeploymentList", false, false},
		{"apps", "v1", "DeleteOptions", false, false},
		{"example.org", "v1", "Shop", false, true},
		{"metrics.k8s.io", "v1beta1", "PodMetrics", false, true},
	} {
		gvk := schema.GroupVersionKind{Group: row.group, Version: row.version, Kind: row.kind}
		found, exists := set.Lookup(gvk)
		if (found != nil) != row.known || exists != row.exists {
			t.Errorf("%v: type known %v, exists %v, want %v, %v", gvk, found != nil, exists, row.known, row.exists)
		}
	}
}

func TestBuiltInKindsHaveFieldTypes(t *testing.T) {
	for path, want := range map[string]string{
		"apps/v1 Deployment metadata name":                                      "string!",
		"apps/v1 Deployment metadata namespace":                                 "string!",
		"v1 Namespace metadata namespace":                                       "no such field",
		"apps/v1 Deployment spec selector matchLabels":                          "map[string]",
		"apps/v1 Deployment spec replicas":                                      "integer",
		"apps/v1 Deployment spec template spec containers * name":               "string!",
		"apps/v1 Deployment spec template metadata name":                        "string",
		"apps/v1 Deployment spec template spec containers * resources limits *": "integer|number|string",
		"v1 Service spec ports * targetPort":                                    "integer|string",
		"v1 Service status loadBalancer ingress * ip":                           "string",
		"v1 ConfigMap data *":                                                   "string",
		"v1 Event eventTime":                                                    "string",
		"networking.k8s.io/v1 Ingress spec defaultBackend service port number":  "integer",
		"apps/v1 ControllerRevision data":                                       "map[?]!",
	} {
		words := strings.Fields(path)
		gv, err := schema.ParseGroupVersion(words[0])
		if err != nil {
			t.Fatal(err)
		}
		found, _ := BuiltIn().Lookup(gv.WithKind(words[1]))
		got := ""
		for _, word := range words[2:] {
			if word == "*" {
				found, got = found.Items, show(found.Items)
				continue
			}
			f, ok := found.Fields[word]
			if !ok {
				got = "no such field"
				break
			}
			found, got = f.Type, show(f.Type)
			if f.Present {
				got += "!"
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// The Go types are independent of the documents from which the Set is generated.
func TestBuiltInKindsMatchGoTypes(t *testing.T) {
	compared := 0
	for gvk, goType := range scheme.Scheme.AllKnownTypes() {
		if meta, ok := goType.FieldByName("ObjectMeta"); !ok || !meta.Anonymous {
			continue
		}
		found, _ := BuiltIn().Lookup(gvk)
		if found == nil { // no longer served
			continue
		}
		compared++
		compare(t, gvk.String(), found, goType, nil)
	}
	if compared < 60 {
		t.Errorf("compared %d kinds, want at least 60", compared)
	}
	var others []string
	for gvk := range readBuiltIn().byKind {
		if !scheme.Scheme.Recognizes(gvk) {
			others = append(others, gvk.Group+"/"+gvk.Kind)
		}
	}
	slices.Sort(others)
	if got, want := strings.Join(slices.Compact(others), " "), "apiextensions.k8s.io/CustomResourceDefinition apiregistration.k8s.io/APIService"; got != want {
		t.Errorf("of other modules than k8s.io/api: %s, want %s", got, want)
	}
	t.Logf("%d kinds compared", compared)
}

// compare reports the fields that exist only in the Set or only in the Go type.
func compare(t *testing.T, at string, found *Type, goType reflect.Type, outer []reflect.Type) {
	for goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	if _, special := reflect.New(goType).Interface().(json.Marshaler); special || slices.Contains(outer, goType) || goType == reflect.TypeFor[metav1.FieldsV1]() {
		return
	}
	outer = append(outer, goType)
	switch goType.Kind() {
	case reflect.Struct:
		fields := jsonFields(goType)
		if len(fields) == 0 { // nothing to compare, such as for an emptyDir of CEL
			return
		}
		for name, inner := range fields {
			f, ok := found.Fields[name]
			switch {
			case ok:
				compare(t, at+"."+name, f.Type, inner, outer)
			case name != "namespace" || !strings.HasSuffix(at, ".metadata"): // cluster-scoped kinds have no namespace
				t.Errorf("%s has a field %s in Go, and not in the set", at, name)
			}
		}
		for name := range found.Fields {
			if fields[name] == nil {
				t.Errorf("%s has a field %s in the set, and not in Go", at, name)
			}
		}
	case reflect.Slice:
		if goType.Elem().Kind() != reflect.Uint8 {
			compare(t, at+"[]", found.Items, goType.Elem(), outer)
		}
	case reflect.Map:
		compare(t, at+"{}", found.Items, goType.Elem(), outer)
	case reflect.String:
		if found.Kinds != String {
			t.Errorf("%s is %s, in Go a string", at, show(found))
		}
	case reflect.Bool:
		if found.Kinds != Boolean {
			t.Errorf("%s is %s, in Go a bool", at, show(found))
		}
	case reflect.Int32, reflect.Int64, reflect.Int:
		if found.Kinds != Integer {
			t.Errorf("%s is %s, in Go an integer", at, show(found))
		}
	default:
		t.Errorf("%s is a %s in Go", at, goType.Kind())
	}
}

// jsonFields returns the types of the fields of a struct by their JSON names.
func jsonFields(goType reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for f := range goType.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch name {
		case "-":
		case "":
			inner := f.Type
			for inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			for name, t := range jsonFields(inner) {
				fields[name] = t
			}
		default:
			fields[name] = f.Type
		}
	}
	return fields
}

func TestBuiltInKindsHaveRules(t *testing.T) {
	pod, _ := BuiltIn().Lookup(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	secret, _ := BuiltIn().Lookup(schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
	binding, _ := BuiltIn().Lookup(schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"})
	spec := pod.Fields["spec"].Type
	for what, row := range map[string]struct {
		got  *Rules
		want Rules
	}{
		"required fields of a kind": {binding.Rules, Rules{Required: []string{"roleRef"}}},
		"required fields of a part": {spec.Rules, Rules{Required: []string{"containers"}}},
		"keys of a list":            {spec.Fields["containers"].Type.Rules, Rules{Keys: []string{"name"}}},
		"base64":                    {secret.Fields["data"].Type.Items.Rules, Rules{Format: "byte"}},
		"32 bits":                   {spec.Fields["priority"].Type.Rules, Rules{Format: "int32"}},
		"any number":                {spec.Fields["activeDeadlineSeconds"].Type.Rules, Rules{}},
	} {
		if row.got == nil {
			row.got = &Rules{}
		}
		if !reflect.DeepEqual(*row.got, row.want) {
			t.Errorf("%s: got %+v, want %+v", what, *row.got, row.want)
		}
	}
}
