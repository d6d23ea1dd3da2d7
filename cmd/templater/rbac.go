package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/cli/minimalrole"
	"github.com/templater-dev/templater/internal/cli/snapshot"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/lint/manifest"
)

// rbacFlags are those of templater rbac.
type rbacFlags struct {
	account, operator accountFlag
	blocking          bool
	ask               bool
	cluster           cli.Cluster
	output            string
}

func newRBACCommand() *cobra.Command {
	f := rbacFlags{operator: accountFlag{&v1.ServiceAccountRef{Namespace: "templater-system", Name: "templater"}}}
	cmd := &cobra.Command{
		Use:   "rbac PATH…",
		Short: "Print the smallest role that a TemplateController can work with",
		Long: `rbac prints manifests that grant a TemplateController what it needs, and nothing
else: the rights on its parents, on the kinds that its templates yield, and on
related objects. A TemplateController with an account (spec.serviceAccountRef, or
--service-account) gets that ServiceAccount, its roles and bindings, and the
right of templater to act as it. Without an account, it is a ClusterRole whose
rights are added to those of templater itself.

A path is a file, a folder with all that is in it, or - for the standard input.
The CustomResourceDefinitions of the kinds that come in must be there, too: they tell
the names of resources. Those that come with Kubernetes are known, and with --cluster
those of a cluster.

What the files do not tell is a comment at the top and a line on the standard
error, and the exit code is 1.`,
		Example: `  # The rights for templater's own account:
  templater rbac config

  # An account for one team, with exactly the rights that the templates need:
  templater rbac --service-account team-a/deployer config > rights.yaml

  # With the kinds of a cluster:
  templater rbac --cluster app.yaml`,
		Args: needPaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := needsCluster(cmd, f.ask); err != nil {
				return err
			}
			return f.run(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.Var(&f.account, "service-account", "NAMESPACE/NAME of the ServiceAccount to work as; empty = spec.serviceAccountRef of each TemplateController")
	flags.Var(&f.operator, "operator", "NAMESPACE/NAME of the ServiceAccount of templater itself")
	flags.BoolVar(&f.blocking, "owner-references-enforced", false, "add what the admission plugin OwnerReferencesPermissionEnforcement asks for: it runs on OpenShift, and elsewhere if somebody has turned it on")
	flags.BoolVar(&f.ask, "cluster", false, "ask the cluster for the kinds that no file defines")
	f.cluster.AddServer(flags)
	cli.AddOutput(flags, &f.output, "yaml", "json")
	return cmd
}

func (f *rbacFlags) run(cmd *cobra.Command, paths []string) error {
	set, err := manifest.LoadControllers(paths, cmd.InOrStdin())
	if err != nil {
		return err
	}
	kinds, err := f.kinds(cmd.Context(), set)
	if err != nil {
		return err
	}
	var all []*minimalrole.Rights
	for _, tc := range set.Controllers {
		rights, err := minimalrole.Of(tc.TemplateController, kinds, minimalrole.Options{Account: f.account.ref, Operator: *f.operator.ref, Blocking: f.blocking})
		if err != nil {
			return fmt.Errorf("TemplateController %s in %s: %w", tc.TemplateController.Name, tc.File, err)
		}
		all = append(all, rights)
	}
	if err := f.print(cmd.OutOrStdout(), all); err != nil {
		return err
	}
	for _, rights := range all {
		for _, note := range rights.Notes {
			fmt.Fprintf(cmd.ErrOrStderr(), "TemplateController %s: %s\n", rights.Controller, note)
			err = cli.Findings
		}
	}
	return err
}

// kinds returns the kinds of the files, and those of the cluster if that is to be asked.
func (f *rbacFlags) kinds(ctx context.Context, set *manifest.Set) (minimalrole.Kinds, error) {
	declared := kind.Declared(manifest.Contents(set.CRDs))
	if !f.ask {
		return declared, nil
	}
	config, err := f.cluster.Config()
	if err != nil {
		return nil, err
	}
	source, _, err := snapshot.NewSource(config)
	if err != nil {
		return nil, err
	}
	return source.Resolver(ctx, declared), nil
}

func (f *rbacFlags) print(out io.Writer, all []*minimalrole.Rights) error {
	if f.output == "json" {
		text, err := minimalrole.List(all)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	}
	text, err := minimalrole.YAML(all)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}

// accountFlag is a ServiceAccount.
type accountFlag struct{ ref *v1.ServiceAccountRef }

// String returns NAMESPACE/NAME.
func (f *accountFlag) String() string {
	if f.ref == nil {
		return ""
	}
	return f.ref.Namespace + "/" + f.ref.Name
}

// Set takes NAMESPACE/NAME.
func (f *accountFlag) Set(text string) error {
	namespace, name, both := strings.Cut(text, "/")
	if !both || len(validation.IsDNS1123Label(namespace))+len(validation.IsDNS1123Subdomain(name)) > 0 {
		return errors.New("give NAMESPACE/NAME, as in team-a/deployer")
	}
	f.ref = &v1.ServiceAccountRef{Namespace: namespace, Name: name}
	return nil
}

// Type is what the help calls the value.
func (f *accountFlag) Type() string { return "string" }

// needPaths takes at least one path.
func needPaths(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("give the file or folder of a TemplateController, or - for the standard input")
	}
	return nil
}
