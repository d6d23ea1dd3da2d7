package component

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

//go:embed etc
var files embed.FS

// values is the data of the templates in etc/.
type values struct {
	*layout.Cluster
	Bin, State, Socket           string
	Node, NodeIP, PodCIDR, Zones string
}

// WriteConfig writes the configuration files of all programs to the etc folder of the cluster's state.
func WriteConfig(c *layout.Cluster) error {
	templates, err := template.ParseFS(files, "etc/*")
	if err != nil {
		return err
	}
	v := values{
		Cluster: c, Bin: c.Cache.Bin(), State: c.Path(), Socket: ContainerdSocket,
		Node: layout.NodeName, NodeIP: layout.NodeIP, PodCIDR: layout.PodCIDR, Zones: layout.Domain,
	}
	for _, t := range templates.Templates() {
		if err := write(c.Path("etc", configName(t.Name())), t, v); err != nil {
			return err
		}
	}
	return auditPolicy(c)
}

// configName puts the CNI configuration into its own folder, where containerd looks for it.
func configName(name string) string {
	if filepath.Ext(name) == ".conflist" {
		return filepath.Join("cni", name)
	}
	return name
}

func write(path string, t *template.Template, v values) error {
	var out bytes.Buffer
	if err := t.Execute(&out, v); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// auditPolicy replaces the default policy with the user's, if any.
func auditPolicy(c *layout.Cluster) error {
	if c.AuditPolicy == "" {
		return nil
	}
	data, err := os.ReadFile(c.AuditPolicy)
	if err != nil {
		return fmt.Errorf("read the audit policy: %w", err)
	}
	return os.WriteFile(c.Path("etc", "audit-policy.yaml"), data, 0o644)
}
