package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/templater-dev/templater/e2e/cluster/poll"
	"github.com/templater-dev/templater/e2e/cluster/proc"
)

// operatorName is the name of the operator's process record. Stopping our own cluster stops it, too.
const operatorName = "operator"

type demo struct {
	folders
	place place
	out   io.Writer
}

// build builds the operator like the cluster, so that Go's standard library is compiled once.
func (d *demo) build(ctx context.Context) error {
	command := d.command(ctx, "go", "build", "-trimpath", "-o", d.binary, "./cmd/templater")
	command.Env = append(command.Env, "CGO_ENABLED=0")
	return command.Run()
}

// install installs the TemplateController CRD.
func (d *demo) install(ctx context.Context) error {
	if err := d.kubectl(ctx, "apply", "-k", "config/crd"); err != nil {
		return err
	}
	return d.remark(ctx)
}

// operate starts the operator and replaces one of an earlier demo.
func (d *demo) operate(context.Context) error {
	if err := d.stopOperator(); err != nil {
		return err
	}
	operator := exec.Command(d.binary, "run", "--log-format", "text") //nolint:noctx // it outlives the demo
	operator.Env = append(os.Environ(), "KUBECONFIG="+d.place.kubeconfig)
	operator.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	fmt.Fprintln(d.out, "  $ templater run        # its log:", d.short(d.place.log))
	return proc.StartDetached(operator, proc.Place{Log: d.place.log, Dir: d.place.records, Name: operatorName})
}

// simpleDeployment applies the first sample and waits for its Pod.
func (d *demo) simpleDeployment(ctx context.Context) error {
	if err := d.kubectl(ctx, "apply", "-k", "config/samples/simpledeployment"); err != nil {
		return err
	}
	if err := d.kubectl(ctx, "apply", "-f", "config/samples/simpledeployment/example.yaml"); err != nil {
		return err
	}
	if err := d.follow(ctx, "simdep/example-01", "{.status.conditions[?(@.type=='Ready')].status}", "True"); err != nil {
		return err
	}
	if err := d.kubectl(ctx, "get", "pods", "-l", "templater.dev/controller=simpledeployments", "-o", "custom-columns=NAME:.metadata.name,UID:.metadata.uid,PHASE:.status.phase"); err != nil {
		return err
	}
	return d.logLines(ctx, "example-01")
}

// loadTest applies the second sample and follows its status.
func (d *demo) loadTest(ctx context.Context) error {
	if err := d.kubectl(ctx, "apply", "-k", "config/samples/loadtest"); err != nil {
		return err
	}
	if err := d.kubectl(ctx, "wait", "deployment/nginx", "--for=condition=Available", "--timeout=120s"); err != nil {
		return err
	}
	if err := d.kubectl(ctx, "apply", "-f", "config/samples/loadtest/example.yaml"); err != nil {
		return err
	}
	if err := d.follow(ctx, "ld/example-02", "{.status.state}", "finished"); err != nil {
		return err
	}
	if err := d.kubectl(ctx, "get", "pods", "-l", "templater.dev/controller=loadtests"); err != nil {
		return err
	}
	return d.logLines(ctx, "example-02-0")
}

// orchestr applies the third sample, and Pods for it to report.
func (d *demo) orchestr(ctx context.Context) error {
	for _, args := range [][]string{
		{"apply", "-k", "config/samples/orchestr"}, {"wait", "tc/orchestrs", "--for=condition=Ready", "--timeout=60s"},
		{"apply", "-f", "config/samples/orchestr/broken.yaml"}, {"apply", "-f", "config/samples/orchestr/example.yaml"},
	} {
		if err := d.kubectl(ctx, args...); err != nil {
			return err
		}
	}
	path, want := `{.status.pods[?(@.name=="broken-size")].status}`, "Pending"
	if !d.place.simulated {
		path, want = `{.status.pods[?(@.name=="broken-exit")].containers[0].log}`, "cannot open the database\n"
	}
	if err := d.follow(ctx, "orc/example-03", path, want); err != nil {
		return err
	}
	return d.kubectl(ctx, "get", "orc/example-03", "-o", `go-template={{range .status.pods}}{{if ne .status "Succeeded"}}{{.name}} {{.status}}{{range .containers}} {{.issue}}{{with .log}} {{.}}{{end}}{{end}}{{"\n"}}{{end}}{{end}}`)
}

// controllers shows the TemplateControllers, once their counts have caught up.
func (d *demo) controllers(ctx context.Context) error {
	if err := d.kubectl(ctx, "wait", "tc", "--all", "--for=jsonpath={.status.parents.updated}=1", "--timeout=60s"); err != nil {
		return err
	}
	return d.kubectl(ctx, "get", "templatecontrollers")
}

// logLines shows the last lines of a Pod's log, if Pods are real.
func (d *demo) logLines(ctx context.Context, pod string) error {
	if d.place.simulated {
		fmt.Fprintln(d.out, "  (a simulated Pod has no log)")
		return nil
	}
	return d.kubectl(ctx, "logs", pod, "--tail=3")
}

// follow prints the object's columns whenever they change, until the JSONPath has the wanted value.
func (d *demo) follow(ctx context.Context, object, path, want string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	fmt.Fprintln(d.out, "  $ kubectl get", object, "--watch")
	last := ""
	return poll.Until(ctx, 200*time.Millisecond, func() error {
		value, err := d.output(ctx, "get", object, "-o", "jsonpath="+path)
		if err != nil {
			return err
		}
		table, err := d.output(ctx, "get", object)
		if err != nil {
			return err
		}
		if table != last {
			d.row(table, last == "")
			last = table
		}
		if value != want {
			return fmt.Errorf("%s is %q, not yet %q", object, value, want)
		}
		return nil
	})
}

// manyUIDs matches a list of UIDs that would not fit on the screen.
var manyUIDs = regexp.MustCompile(`\["([0-9a-f]{8})[-0-9a-f]*",[^\]]*\]`)

// row prints the row of a table, with its header for the first one.
func (d *demo) row(table string, first bool) {
	header, row, _ := strings.Cut(strings.TrimSpace(table), "\n")
	short := manyUIDs.ReplaceAllString(row, `["$1-…", …]`)
	if first {
		less := utf8.RuneCountInString(row) - utf8.RuneCountInString(short)
		fmt.Fprintln(d.out, "   ", strings.Replace(header, strings.Repeat(" ", less), "", 1))
	}
	fmt.Fprintln(d.out, "   ", short)
}

// farewell prints next steps, and how to stop the demo.
func (d *demo) farewell() {
	d.say("The cluster is yours")
	fmt.Fprintf(d.out, `  export KUBECONFIG=%s
  kubectl get simdep,ld,orc,pods                                              # what there is
  kubectl patch ld example-02 --type=merge -p '{"spec":{"replicas":3}}'       # all Pods go, three new ones come
  kubectl delete pod example-01                                               # it comes back
  kubectl get tc loadtests -o yaml                                            # a TemplateController and its status
  kubectl explain templatecontroller.spec.children                            # what can be in one

%sTo write an operator of your own: docs/tutorial/README.md
To stop the operator and take all of this away: %s
`, d.place.kubeconfig, d.ownKubectl(), d.place.stop)
}

// ownKubectl returns the path of the cluster's kubectl, unless an existing kubectl is used.
func (d *demo) ownKubectl() string {
	if filepath.Dir(d.place.kubectl) != d.cache.Path("bin") {
		return ""
	}
	return fmt.Sprintf("There is a kubectl in %s if you have none.\n", d.short(filepath.Dir(d.place.kubectl)))
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.out, "\n== "+format+"\n", args...) }

// short returns a path relative to the root of the repository.
func (d *demo) short(path string) string {
	if short, err := filepath.Rel(d.root, path); err == nil {
		return short
	}
	return path
}

// kubectl runs kubectl and shows the command and what it prints.
func (d *demo) kubectl(ctx context.Context, args ...string) error {
	fmt.Fprintln(d.out, "  $ kubectl", strings.Join(args, " "))
	text, err := d.output(ctx, args...)
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		fmt.Fprintln(d.out, "   ", line)
	}
	return err
}

func (d *demo) output(ctx context.Context, args ...string) (string, error) {
	command := d.command(ctx, d.place.kubectl, args...)
	command.Stdout = nil // Output requires it
	text, err := command.Output()
	if err != nil {
		return string(text), fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return string(text), nil
}

func (d *demo) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Stdout, command.Stderr = d.root, d.out, d.out
	command.Env = append(os.Environ(), "KUBECONFIG="+d.place.kubeconfig)
	return command
}
