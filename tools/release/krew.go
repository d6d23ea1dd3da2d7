package main

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// plugin is the manifest with which krew, the plugin manager of kubectl, installs templater as kubectl templater.
type plugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       pluginSpec        `json:"spec"`
}

type pluginSpec struct {
	Version          string           `json:"version"`
	Homepage         string           `json:"homepage"`
	ShortDescription string           `json:"shortDescription"`
	Description      string           `json:"description"`
	Platforms        []pluginPlatform `json:"platforms"`
}

type pluginPlatform struct {
	Selector map[string]map[string]string `json:"selector"`
	URI      string                       `json:"uri"`
	SHA256   string                       `json:"sha256"`
	Bin      string                       `json:"bin"`
}

// krew returns the manifest with the archives of all platforms.
func (r *release) krew() ([]byte, error) {
	p := plugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": "templater"},
		Spec: pluginSpec{
			Version: r.version, Homepage: project, ShortDescription: "Write operators as templates",
			Description: "Lint, render, test and explain TemplateControllers, mostly without a cluster,\nand see what one would do to a cluster, and what it has done.\n",
		},
	}
	for _, a := range r.archives {
		p.Spec.Platforms = append(p.Spec.Platforms, pluginPlatform{
			Selector: map[string]map[string]string{"matchLabels": {"os": a.platform.System, "arch": a.platform.Architecture}},
			URI:      r.baseURL + "/" + a.name, SHA256: r.sums[a.name], Bin: a.platform.File(programName),
		})
	}
	text, err := yaml.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("the manifest for krew: %w", err)
	}
	return text, nil
}
