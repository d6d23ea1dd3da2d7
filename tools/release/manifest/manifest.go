// Package manifest builds manifests from the folder config: the installation, with the image of a release, and samples.
package manifest

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Image is an image in a registry. Its digest makes it immutable.
type Image struct {
	Repository string // such as registry.example.org/templater
	Digest     string // sha256:…
}

// Objects returns the objects of config/default in the repository source, with the image, in installation order:
// namespaces and CRDs come first.
func Objects(source string, image Image) ([]map[string]any, error) {
	return build(source, "config/default", []map[string]string{{"name": "templater", "newName": image.Repository, "digest": image.Digest}})
}

// Sample returns the objects of the sample called name, without an object of its kind.
func Sample(source, name string) ([]map[string]any, error) {
	return build(source, "config/samples/"+name, nil)
}

// build runs kustomize on a folder below config.
func build(source, folder string, images []map[string]string) ([]map[string]any, error) {
	files := filesys.MakeFsInMemory()
	if err := copyInto(files, filepath.Join(source, "config")); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": []string{"../" + folder}, "images": images,
	})
	if err != nil {
		return nil, err
	}
	if err := files.WriteFile("/release/kustomization.yaml", text); err != nil {
		return nil, err
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	made, err := krusty.MakeKustomizer(options).Run(files, "/release")
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %w", folder, err)
	}
	var objects []map[string]any
	for _, one := range made.Resources() {
		o, err := one.Map()
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// copyInto copies the folder config into files, under the same name.
func copyInto(files filesys.FileSystem, config string) error {
	return filepath.WalkDir(config, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		name, err := filepath.Rel(config, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return files.WriteFile("/config/"+filepath.ToSlash(name), text)
	})
}

// Text returns the objects as one file for kubectl apply, preceded by a comment.
func Text(comment string, objects []map[string]any) ([]byte, error) {
	out := []byte("# " + comment + "\n")
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		out = append(append(out, "---\n"...), text...)
	}
	return out, nil
}

// Find returns the object of a kind and a name.
func Find(objects []map[string]any, kind, name string) (map[string]any, error) {
	for _, o := range objects {
		metadata, _ := o["metadata"].(map[string]any)
		if o["kind"] == kind && metadata["name"] == name {
			return o, nil
		}
	}
	return nil, fmt.Errorf("config/default has no %s %s any more", kind, name)
}
