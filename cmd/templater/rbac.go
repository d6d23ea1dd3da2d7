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
	"github.com/templater-dev/templater/internal/cli/rbac"
	"github.com/templater-dev/templater/internal/cli/snapshot"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/lint/manifest"
)

// rbacFlags are the flags of templater rbac.
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
		Use:   "rbac PATH...",
		Short: "Print the minimal RBAC rules for TemplateControllers",
		Long: `Print manifests with the permissions that a TemplateController needs, and no others:
for its parents, for the kinds that its templates render, and for related objects.
For a TemplateController with a service account (spec.serviceAccountRef, or
--service-account), it prints that ServiceAccount, its roles and bindings, and the
permission for templater to impersonate it. Otherwise, it prints a ClusterRole that is
aggregated into that of templater.

PATH is a file, a directory (read recursively), or - for standard input. Include the
CustomResourceDefinitions of custom kinds: they define the resource names. Built-in
kinds need none. With --cluster, missing kinds are looked up in the cluster.

Permissions that cannot be determined from the files are reported in a comment at the
top and on standard error, and the exit code is 1.`,
		Example: `  # Permissions for the service account of templater:
  templater rbac config

  # A service account for one team, with exactly the permissions that the templates need:
  templater rbac --service-account team-a/deployer config > rbac.yaml

  # Look up missing kinds in the cluster:
  templater rbac --cluster app.yaml`,
	}
	readPaths(cmd, f.run)
	flags := cmd.Flags()
	flags.Var(&f.account, "service-account", "NAMESPACE/NAME of the ServiceAccount that templater impersonates; defaults to spec.serviceAccountRef of each TemplateController")
	flags.Var(&f.operator, "templater-service-account", "NAMESPACE/NAME of the ServiceAccount of templater itself")
	flags.BoolVar(&f.blocking, "owner-references-enforced", false, "add the permissions that the OwnerReferencesPermissionEnforcement admission plugin requires (enabled by default on OpenShift)")
	flags.BoolVar(&f.ask, "cluster", false, "look up kinds in the cluster if no file defines them")
	f.cluster.AddServer(flags)
	cli.AddOutput(flags, &f.output, "yaml", "json")
	return cmd
}

func (f *rbacFlags) run(cmd *cobra.Command, paths []string) error {
	if err := needsCluster(cmd, f.ask); err != nil {
		return err
	}
	set, err := manifest.LoadControllers(paths, cmd.InOrStdin())
	if err != nil {
		return err
	}
	kinds, err := f.kinds(cmd.Context(), set)
	if err != nil {
		return err
	}
	var all []*rbac.Permissions
	for _, tc := range set.Controllers {
		if refused := lint.Refused(tc); len(refused) > 0 {
			return tc.Located(refused[0].String())
		}
		permissions, err := rbac.Of(tc.TemplateController, kinds, rbac.Options{Account: f.account.ref, Operator: *f.operator.ref, Blocking: f.blocking})
		if err != nil {
			return fmt.Errorf("%s in %s: %w", v1.Describe(tc.TemplateController.Key()), tc.File, err)
		}
		all = append(all, permissions)
	}
	if err := f.print(cmd.OutOrStdout(), all); err != nil {
		return err
	}
	for _, permissions := range all {
		for _, note := range permissions.Notes {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", v1.Describe(permissions.Controller), note)
			err = cli.Findings
		}
	}
	return err
}

// kinds returns the kinds in the files and, with --cluster, the kinds of the cluster.
func (f *rbacFlags) kinds(ctx context.Context, set *manifest.Set) (rbac.Kinds, error) {
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

func (f *rbacFlags) print(out io.Writer, all []*rbac.Permissions) error {
	if f.output == "json" {
		text, err := rbac.List(all)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	}
	text, err := rbac.YAML(all)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}

// accountFlag is a flag value that names a ServiceAccount.
type accountFlag struct{ ref *v1.ServiceAccountRef }

// String returns NAMESPACE/NAME.
func (f *accountFlag) String() string {
	if f.ref == nil {
		return ""
	}
	return f.ref.Namespace + "/" + f.ref.Name
}

// Set parses NAMESPACE/NAME.
func (f *accountFlag) Set(text string) error {
	namespace, name, both := strings.Cut(text, "/")
	if !both || len(validation.IsDNS1123Label(namespace))+len(validation.IsDNS1123Subdomain(name)) > 0 {
		return errors.New("use NAMESPACE/NAME, as in team-a/deployer")
	}
	f.ref = &v1.ServiceAccountRef{Namespace: namespace, Name: name}
	return nil
}

// Type returns the type of the value in the help.
func (f *accountFlag) Type() string { return "string" }
