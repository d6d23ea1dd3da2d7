package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/manifest"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/simulate"
	"github.com/templater-dev/templater/internal/snapshot"
	"github.com/templater-dev/templater/internal/tree"
)

// treeFlags are the flags of templater tree.
type treeFlags struct {
	cluster cli.Cluster
	paths   []string
	output  string
}

func newTreeCommand() *cobra.Command {
	f := treeFlags{}
	cmd := &cobra.Command{
		Use:   "tree KIND NAME",
		Short: "Show a parent with its children, and what waits for what",
		Long: `Show a parent of a cluster with its children by entry, the related objects that its
templates see, whether each of them is ready, and what waits for what.

It reads with your rights and writes nothing. It renders the templates as the operator
does. It takes the labels of children for true: only the operator can tell by the seals.

With --filename, no cluster is asked: the TemplateControllers, the parent and all other
objects are those of files.

It exits with 0, also where something is not ready, and with 2 if it could not do its work.`,
		Example: `  templater tree app shop -n web
  templater tree apps.example.org shop -o mermaid
  templater tree App one -f config/ -o dot`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("give the kind and the name of one parent, as in: tree app shop")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1]) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.paths, "filename", "f", nil, "files and folders with all objects, or - for the standard input; empty = those of the cluster")
	cli.AddOutput(flags, &f.output, "text", "json", "dot", "mermaid")
	f.cluster.Add(flags)
	return cmd
}

func (f *treeFlags) run(cmd *cobra.Command, kind, name string) error {
	grow := f.ofCluster
	if len(f.paths) > 0 {
		grow = func(_ context.Context, kind, name string) (tree.Tree, error) {
			return f.ofFiles(cmd.InOrStdin(), kind, name)
		}
	}
	t, err := grow(cmd.Context(), kind, name)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	switch f.output {
	case "json":
		return tree.JSON(out, t)
	case "dot":
		return tree.DOT(out, t)
	case "mermaid":
		return tree.Mermaid(out, t)
	}
	return tree.Text(out, cli.ColoursFor(out), t)
}

// ofCluster reads the parent and all that belongs to it from the cluster.
func (f *treeFlags) ofCluster(ctx context.Context, kind, name string) (tree.Tree, error) {
	config, err := f.cluster.Config()
	if err != nil {
		return tree.Tree{}, err
	}
	namespace, err := f.cluster.InNamespace()
	if err != nil {
		return tree.Tree{}, err
	}
	source, _, err := snapshot.NewSource(config)
	if err != nil {
		return tree.Tree{}, err
	}
	where, err := source.Find(kind)
	if err != nil {
		return tree.Tree{}, err
	}
	if where.Scope.Name() != "namespace" {
		namespace = ""
	}
	parent, err := source.Parent(ctx, kube.Location{Resource: where.Resource, Namespace: namespace, Name: name})
	if err != nil {
		return tree.Tree{}, err
	}
	all, err := source.Controllers(ctx)
	if err != nil {
		return tree.Tree{}, err
	}
	var controllers []tree.Controller
	for _, tc := range all {
		if gvk := schema.FromAPIVersionAndKind(tc.Spec.Watch.APIVersion, tc.Spec.Watch.Kind); gvk.GroupKind() != where.GroupVersionKind.GroupKind() {
			continue
		}
		seen, err := source.Around(ctx, tc, parent)
		if err != nil {
			return tree.Tree{}, err
		}
		if seen == nil {
			continue
		}
		if controllers, err = add(controllers, tc, seen.Definitions, func(s *simulate.Simulator) simulate.State {
			state := simulate.State{Parent: parent.Content(), Read: seen.Related.Read, Now: time.Now()}
			for _, o := range seen.Children {
				state.Objects = append(state.Objects, o.Content())
			}
			return s.Holding(state, parent, seen.Children)
		}); err != nil {
			return tree.Tree{}, err
		}
	}
	return grown(parent.Content(), controllers)
}

// ofFiles takes files for the cluster.
func (f *treeFlags) ofFiles(stdin io.Reader, kind, name string) (tree.Tree, error) {
	set, err := manifest.LoadControllers(f.paths, stdin)
	if err != nil {
		return tree.Tree{}, err
	}
	i := slices.IndexFunc(set.Objects, func(o *manifest.Object) bool { return f.means(o.Content, kind, name) })
	if i < 0 {
		return tree.Tree{}, fmt.Errorf("there is no %s %s in %s", kind, name, strings.Join(f.paths, ", "))
	}
	parent, others := set.Objects[i].Content, manifest.Contents(slices.Delete(slices.Clone(set.Objects), i, i+1))
	var controllers []tree.Controller
	for _, c := range set.Controllers {
		if controllers, err = add(controllers, c.TemplateController, manifest.Contents(set.CRDs), func(*simulate.Simulator) simulate.State {
			return simulate.State{Parent: parent, Objects: others, Now: time.Now()}
		}); err != nil {
			return tree.Tree{}, err
		}
	}
	return grown(parent, controllers)
}

// means reports whether the words of the command line name an object.
func (f *treeFlags) means(content map[string]any, named, name string) bool {
	is := child.GVKOf(content)
	word, of, qualified := strings.Cut(named, ".")
	if qualified && of != is.Group && of != is.Version+"."+is.Group {
		return false
	}
	metadata, _ := content["metadata"].(map[string]any)
	return (strings.EqualFold(is.Kind, word) || strings.EqualFold(kind.Plural(is.Kind), word)) && metadata["name"] == name &&
		(f.cluster.Namespace == "" || metadata["namespace"] == f.cluster.Namespace)
}

// add adds how the parent stands by a TemplateController, if it is a parent of that.
func add(all []tree.Controller, tc *v1.TemplateController, definitions []map[string]any, read func(*simulate.Simulator) simulate.State) ([]tree.Controller, error) {
	checked := lint.Check(tc, nil)
	if checked.Rejection != nil {
		return nil, fmt.Errorf("TemplateController %s: %s", tc.Name, checked.Rejection.Message)
	}
	s, rejection := simulate.New(tc, checked.Compiled, definitions)
	if rejection != nil {
		return nil, fmt.Errorf("TemplateController %s: %s", tc.Name, rejection.Message)
	}
	state := read(s)
	if s.Watches(state.Parent) != "" {
		return all, nil
	}
	one, err := tree.Of(tc, checked.Compiled, s, state)
	return append(all, one), err
}

func grown(parent map[string]any, controllers []tree.Controller) (tree.Tree, error) {
	t := tree.NewParent(parent, controllers)
	metadata, _ := parent["metadata"].(map[string]any)
	switch {
	case metadata["deletionTimestamp"] != nil:
		return t, fmt.Errorf("%s %s is being deleted, which tree does not show: its ready condition says what it waits for", t.Parent.Kind, t.Parent.Name)
	case len(controllers) == 0:
		return t, fmt.Errorf("%s %s is no parent of any TemplateController: check kind, labels and namespace against their spec.watch", t.Parent.Kind, t.Parent.Name)
	}
	return t, nil
}
