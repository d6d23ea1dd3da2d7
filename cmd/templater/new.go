package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/cli/scaffold"
	"github.com/templater-dev/templater/internal/cli/scaffold/chart"
	"github.com/templater-dev/templater/internal/kube/kind"
)

// newFlags are the flags of templater new.
type newFlags struct {
	gvk       schema.GroupVersionKind
	crd       string
	manifests []string
	chart     string
	rgd       string
	separate  bool
}

func newNewCommand() *cobra.Command {
	f := newFlags{}
	cmd := &cobra.Command{
		Use:   "new DIR",
		Short: "Generate the files of a new operator",
		Long: `Create a directory with a TemplateController and a kustomization.yaml that applies it. For
a new kind, the TemplateController also defines the kind (spec.crd), and there is an example
parent. The starting point is one of

  --kind Shop --group example.org    a new kind: a Deployment and a Service for each Shop
  --kind Deployment --group apps     a built-in kind
  --from-crd FILE                    an existing CustomResourceDefinition
  --from-manifest FILE               existing objects: they become templates, and
                                     images, replicas and hosts become fields
  --from-chart DIR                   a Helm chart
  --from-rgd FILE                    a ResourceGraphDefinition of kro

Parts of a chart, of manifests or of a ResourceGraphDefinition that cannot be converted are reported on standard
error, with file and line, and the exit code is 1. The directory must be empty or must
not exist.`,
		Example: `  # A new kind:
  templater new shop --kind Shop --group example.org

  # From existing objects (the output of kubectl get -o yaml):
  templater new web --kind Web --group example.org --from-manifest web.yaml

  # From a Helm chart:
  templater new site --group example.org --from-chart charts/site`,
		Args: cobra.MatchAll(cobra.MaximumNArgs(1), func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("specify the output directory")
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.add(cmd.Flags())
	return cmd
}

func (f *newFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.gvk.Kind, "kind", "", "kind of the parents, such as Shop")
	flags.StringVar(&f.gvk.Group, "group", "", "API group of the parents, such as example.org, or of a built-in kind")
	flags.StringVar(&f.gvk.Version, "version", "v1", "API version of the parents")
	flags.StringVar(&f.crd, "from-crd", "", "file with the CustomResourceDefinition of the parents, or - for standard input")
	flags.StringSliceVar(&f.manifests, "from-manifest", nil, "files or directories with objects that become children, or - for standard input; can be repeated")
	flags.StringVar(&f.chart, "from-chart", "", "directory of a Helm chart")
	flags.StringVar(&f.rgd, "from-rgd", "", "file with a ResourceGraphDefinition of kro, or - for standard input")
	flags.BoolVar(&f.separate, "separate-crd", false, "write the CustomResourceDefinition of a new kind to its own file instead of spec.crd")
}

func (f *newFlags) run(cmd *cobra.Command, folder string) error {
	if err := mustBeEmpty(folder); err != nil {
		return err
	}
	result, err := f.make(cmd)
	if err != nil {
		return err
	}
	for _, file := range result.Files {
		if err := write(folder, file); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(folder, filepath.FromSlash(file.Name)))
	}
	for _, note := range result.Notes {
		fmt.Fprintln(cmd.ErrOrStderr(), note)
	}
	if len(result.Notes) > 0 {
		return cli.Findings
	}
	return nil
}

// make generates the files according to the flags.
func (f *newFlags) make(cmd *cobra.Command) (*scaffold.Result, error) {
	sources := 0
	for _, given := range []bool{f.crd != "", len(f.manifests) > 0, f.chart != "", f.rgd != ""} {
		if given {
			sources++
		}
	}
	switch {
	case sources > 1:
		return nil, errors.New("use only one of --from-crd, --from-manifest, --from-chart and --from-rgd")
	case (f.crd != "" || f.rgd != "") && (f.gvk.Kind != "" || f.gvk.Group != ""):
		return nil, errors.New("--kind and --group cannot be combined with --from-crd or --from-rgd, whose file defines them: remove --kind and --group")
	case f.crd != "":
		return f.fromCRD(cmd)
	case f.rgd != "":
		return f.fromRGD(cmd)
	case f.gvk.Kind == "" && f.chart == "":
		return nil, errors.New("set --kind and --group together, or one of --from-crd, --from-rgd and --from-chart")
	case f.chart != "":
		return f.fromChart()
	case len(f.manifests) > 0:
		set, err := loadFlag(cmd, "from-manifest", f.manifests)
		if err != nil {
			return nil, err
		}
		return scaffold.FromManifests(f.gvk, set.Objects, f.separate)
	}
	if _, err := (kind.Declared{}).Resolve(f.gvk); err == nil {
		return scaffold.Watching(f.gvk, nil)
	}
	return scaffold.Fresh(f.gvk, f.separate)
}

func (f *newFlags) fromCRD(cmd *cobra.Command) (*scaffold.Result, error) {
	set, err := loadFlag(cmd, "from-crd", []string{f.crd})
	switch {
	case err != nil:
		return nil, err
	case len(set.CRDs) != 1:
		return nil, fmt.Errorf("--from-crd: %s: contains %d CustomResourceDefinitions, want one", f.crd, len(set.CRDs))
	}
	gvk, err := kind.Stored(set.CRDs[0].Content)
	if err != nil {
		return nil, fmt.Errorf("--from-crd: %s: %w", f.crd, err)
	}
	return scaffold.Watching(gvk, set.CRDs[0].Content)
}

func (f *newFlags) fromRGD(cmd *cobra.Command) (*scaffold.Result, error) {
	set, err := loadFlag(cmd, "from-rgd", []string{f.rgd})
	switch {
	case err != nil:
		return nil, err
	case len(set.Objects) != 1 || set.Objects[0].Content["kind"] != "ResourceGraphDefinition":
		return nil, fmt.Errorf("--from-rgd: %s must contain exactly one ResourceGraphDefinition, and no other objects", f.rgd)
	}
	result, err := scaffold.FromRGD(set.Objects[0], f.separate)
	if err != nil {
		return nil, fmt.Errorf("--from-rgd: %s: %w", f.rgd, err)
	}
	return result, nil
}

func (f *newFlags) fromChart() (*scaffold.Result, error) {
	info, err := os.Stat(f.chart)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--from-chart: directory %s does not exist", f.chart)
	case err != nil:
		return nil, fmt.Errorf("--from-chart: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("--from-chart: %s is not a directory: unpack the chart (tar -xf)", f.chart)
	}
	result, err := chart.Convert(os.DirFS(f.chart), f.gvk, f.separate)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.chart, err)
	}
	for i := range result.Notes {
		result.Notes[i].File = filepath.Join(f.chart, filepath.FromSlash(result.Notes[i].File))
	}
	return result, nil
}

// mustBeEmpty returns an error if the directory exists and is not empty, or is not a directory.
func mustBeEmpty(folder string) error {
	entries, err := os.ReadDir(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s is not a directory", folder)
	case len(entries) > 0:
		return fmt.Errorf("directory %s is not empty: use an empty or a new directory", folder)
	}
	return nil
}

// write writes a file, and creates its directories.
func write(folder string, file scaffold.File) error {
	name := filepath.Join(folder, filepath.FromSlash(file.Name))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(file.Content), 0o666)
}
