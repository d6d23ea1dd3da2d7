// Package chart generates a Helm chart from the objects of config/default. Configurable values are replaced by
// expressions; everything else is copied. With default values, the chart installs the same objects, except the
// namespace, which Helm creates.
package chart

import (
	"bytes"
	"embed"
	"fmt"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/tools/release/manifest"
	"github.com/templater-dev/templater/tools/release/pack"
)

//go:embed all:static
var static embed.FS

// Name is the name of the chart.
const Name = "templater"

// definition returns the path of the file with a CRD. Descriptions contain template syntax, so it is not a template.
func definition(name string) string { return "files/" + name + ".yaml" }

// Make returns the files of the chart, in the folder Name. objects are those of manifest.Objects and are not modified;
// version is that of the release, including the v.
func Make(objects []map[string]any, image manifest.Image, version string) ([]pack.File, error) {
	values, err := defaults(objects, image, version)
	if err != nil {
		return nil, err
	}
	var files []pack.File
	add := func(path string, body []byte) {
		files = append(files, pack.File{Path: Name + "/" + path, Mode: 0o644, Body: body})
	}
	for _, name := range []string{"Chart.yaml", "values.yaml"} {
		body, err := filled(name, values)
		if err != nil {
			return nil, err
		}
		add(name, body)
	}
	for _, name := range []string{"values.schema.json", "templates/_helpers.tpl", "templates/NOTES.txt", "templates/checks.yaml", "templates/rbac.yaml", "templates/crds.yaml", "templates/seals-role.yaml", "templates/seals.yaml"} {
		body, err := static.ReadFile("static/" + name)
		if err != nil {
			return nil, err
		}
		add(name, body)
	}
	for _, o := range objects {
		path, body, err := one(o)
		if err != nil {
			return nil, err
		}
		switch o["kind"] {
		case "Namespace":
			continue
		case "CustomResourceDefinition":
			metadata, _ := o["metadata"].(map[string]any)
			file := definition(fmt.Sprint(metadata["name"]))
			add(file, body)
			body = []byte("{{- if and .Values.crd.install (not .Values.className) }}\n{{ .Files.Get \"" + file + "\" }}\n{{- end }}\n")
		}
		add(path, body)
	}
	return files, nil
}

// texts are the values inserted into Chart.yaml and values.yaml.
type texts struct {
	Version, AppVersion, Repository, Digest, Resources string
	Replicas                                           any
}

// defaults reads the default values from the installed objects.
func defaults(objects []map[string]any, image manifest.Image, version string) (texts, error) {
	deployment, err := manifest.Find(objects, "Deployment", "templater")
	if err != nil {
		return texts{}, err
	}
	replicas, err := at(deployment, "spec", "replicas")
	if err != nil {
		return texts{}, err
	}
	resources, err := at(deployment, append(container, "resources")...)
	if err != nil {
		return texts{}, err
	}
	text, err := yaml.Marshal(*resources)
	return texts{
		Version: strings.TrimPrefix(version, "v"), AppVersion: version, Repository: image.Repository, Digest: image.Digest,
		Resources: indent(strings.TrimSpace(string(text)), "  "), Replicas: *replicas,
	}, err
}

func filled(name string, values texts) ([]byte, error) {
	t, err := template.New(name).ParseFS(static, "static/"+name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, values)
	return out.Bytes(), err
}

// one returns the template of an object, and its path.
func one(o map[string]any) (path string, body []byte, err error) {
	o, err = copied(o)
	if err != nil {
		return "", nil, err
	}
	metadata, _ := o["metadata"].(map[string]any)
	name, kind := fmt.Sprint(metadata["name"]), fmt.Sprint(o["kind"])
	path = strings.ToLower("templates/" + kind + "-" + name + ".yaml")
	e := &expressions{}
	if kind == "CustomResourceDefinition" {
		annotations, _ := metadata["annotations"].(map[string]any)
		annotations["helm.sh/resource-policy"] = "keep"
	} else if err := e.replace(o); err != nil {
		return "", nil, fmt.Errorf("the %s %s of config/default: %w", kind, name, err)
	}
	body, err = yaml.Marshal(o)
	if kind == "CustomResourceDefinition" || err != nil {
		return path, body, err
	}
	return path, []byte(when(kind, name, e.fill(string(body)))), nil
}

// when wraps a template in the condition for which the object exists.
func when(kind, name, text string) string {
	switch {
	case strings.HasPrefix(kind, "ValidatingAdmissionPolicy"):
		return "{{- if not .Values.className }}\n" + text + "{{- end }}\n"
	case name == "templater-children":
		return "{{- if not .Values.requireServiceAccount }}\n" + text + "{{- end }}\n"
	}
	return text
}

func copied(o map[string]any) (map[string]any, error) {
	text, err := yaml.Marshal(o)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	err = yaml.Unmarshal(text, &out)
	return out, err
}
