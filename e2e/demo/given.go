package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/proc"
)

const (
	definition           = "templatecontrollers.templater.dev"
	namespacedDefinition = "namespacedtemplatecontrollers.templater.dev"
	revisionDefinition   = "templaterevisions.templater.dev"
	mark                 = "demo.templater.dev/made" // label of the CRD if the demo created it
)

// given is the demo on an existing cluster. It leaves the cluster unchanged except for the demo's own objects.
func given(f folders, kubeconfig string, out io.Writer) (*demo, error) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		kubectl = f.cache.Bin("kubectl")
		if _, err := os.Stat(kubectl); err != nil {
			return nil, errors.New("KUBECONFIG is set, and there is no kubectl on the PATH: install one, or unset KUBECONFIG, and a cluster with a kubectl is built")
		}
	}
	state := filepath.Join(filepath.Dir(f.cache.Dir), "demo")
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, err
	}
	return &demo{out: out, folders: f, place: place{
		kubeconfig: kubeconfig, kubectl: kubectl, log: filepath.Join(state, operatorName+".log"), records: state, stop: "make demo-down KUBECONFIG=" + kubeconfig,
	}}, nil
}

// meet inspects the cluster, prints what is going to happen, and asks the user at the terminal for confirmation.
func (d *demo) meet(ctx context.Context, in io.Reader) error {
	server, err := d.output(ctx, "config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server} (context {.current-context})")
	if err != nil {
		return err
	}
	kubelets, err := d.output(ctx, "get", "nodes", "-o", "jsonpath={.items[*].status.nodeInfo.kubeletVersion}")
	if err != nil {
		return fmt.Errorf("the cluster of KUBECONFIG does not answer: unset KUBECONFIG to have one built: %w", err)
	}
	d.place.simulated = !slices.ContainsFunc(strings.Fields(kubelets), func(version string) bool { return !strings.HasPrefix(version, "kwok-") })
	if err := d.refuseOthers(ctx); err != nil {
		return err
	}
	d.say("What is going to happen on the cluster at %s", server)
	fmt.Fprintf(d.out, `  1. Templater is built, and runs on this machine with the rights of your kubeconfig: a minute the first time, seconds later.
  2. Three samples are applied, and you see what becomes of them: half a minute. They have kinds of their own, in the group
     example.org, and Pods in your current namespace. One of them reads all Pods.
To take it all away afterwards: %s
`, d.place.stop)
	return confirm(d.out, in)
}

// confirm asks whether to continue. A nil in means that there is no user to ask.
func confirm(out io.Writer, in io.Reader) error {
	if in == nil {
		return nil
	}
	fmt.Fprint(out, "\nGo on? [y/N] ")
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was done; unset KUBECONFIG to have a cluster built")
	}
	return nil
}

// refuseOthers returns an error if the cluster has a templater that the demo did not install.
func (d *demo) refuseOthers(ctx context.Context) error {
	found, err := d.output(ctx, "get", "crd", "--ignore-not-found", "-o", "name", "--field-selector=metadata.name="+definition, "-l", "!"+mark)
	if err != nil {
		return err
	}
	if strings.TrimSpace(found) != "" {
		return errors.New("templater is installed on this cluster already: apply the samples there (config/samples), or unset KUBECONFIG to have a cluster built")
	}
	return nil
}

// remark labels the CRD as created by the demo.
func (d *demo) remark(ctx context.Context) error {
	_, err := d.output(ctx, "label", "--overwrite", "crd", definition, mark+"=true")
	return err
}

// down removes what the demo created on an existing cluster.
func (d *demo) down(ctx context.Context) error {
	if err := d.refuseOthers(ctx); err != nil {
		return err
	}
	d.say("Take away what the demo has made")
	there, err := d.output(ctx, "get", "crd", "--field-selector=metadata.name="+definition, "-o", "name")
	if err != nil {
		return err
	}
	if strings.TrimSpace(there) == "" {
		fmt.Fprintln(d.out, "  Nothing of it is there.")
		return d.stopOperator()
	}
	for _, args := range [][]string{ // deleting the CRDs deletes their objects, and that deletes the children
		{"-f", "config/samples/orchestr/broken.yaml"}, {"-k", "config/samples/orchestr"}, {"-k", "config/samples/loadtest"}, {"-k", "config/samples/simpledeployment"},
	} {
		if err := d.kubectl(ctx, append(append([]string{"delete"}, args...), goneAlready, "--timeout=60s")...); err != nil {
			return err
		}
	}
	if err := d.stopOperator(); err != nil {
		return err
	}
	return errors.Join(
		d.kubectl(ctx, "delete", "namespace", "templater-system", goneAlready, "--timeout=60s"),
		d.kubectl(ctx, "delete", "crd", definition, namespacedDefinition, revisionDefinition, "orchestrs.kopf.dev", goneAlready, "--timeout=60s"),
	)
}

const goneAlready = "--ignore-not-found"

// stopOperator stops the operator of an earlier demo, if there is one.
func (d *demo) stopOperator() error {
	ids, err := proc.Recorded(d.place.records)
	if err != nil {
		return err
	}
	if earlier, ok := ids[operatorName]; ok {
		return earlier.Stop(syscall.SIGTERM, 10*time.Second)
	}
	return nil
}
