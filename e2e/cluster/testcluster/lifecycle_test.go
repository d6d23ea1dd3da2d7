package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/audit"
	"github.com/templater-dev/templater/e2e/cluster/build"
	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/proc"
	"github.com/templater-dev/templater/tools/image/archive"
)

const pods = `
apiVersion: v1
kind: Pod
metadata: {name: hello}
spec:
  restartPolicy: Never
  containers:
  - {name: c, image: "busybox:1.35", command: [sh, -c, "echo hello"]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers:
  - name: c
    image: busybox
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "echo served > /tmp/index.html; exec httpd -f -p 80 -h /tmp"]
    readinessProbe: {periodSeconds: 1, httpGet: {port: 80, path: /index.html}}
---
apiVersion: v1
kind: Service
metadata: {name: nginx}
spec: {selector: {app: web}, ports: [{port: 80}]}
`

// bring starts a cluster for the test, which must remove it completely.
func bring(t *testing.T, mode layout.Mode) *Cluster {
	t.Helper()
	if missing := build.Missing(mode); len(missing) > 0 {
		why := fmt.Sprintf("mode %s is impossible here: %s", mode, strings.Join(missing, "; "))
		if os.Getenv("CI") != "" { // a skip would go unnoticed
			t.Fatal(why)
		}
		t.Skip(why)
	}
	name := "test-" + string(mode)
	if _, err := Down("", name); err != nil { // an earlier test may have been killed
		t.Fatal(err)
	}
	before := takeSnapshot(t)
	c, err := Up(t.Context(), Options{Name: name, Mode: mode, Out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		traces := tracesOf(t, c)
		if err := c.Down(); err != nil {
			t.Error(err)
		}
		compareSnapshots(t, before, takeSnapshot(t))
		traces.checkGone(t)
	})
	return c
}

func kubectl(t *testing.T, c *Cluster, args ...string) string {
	t.Helper()
	out, err := tryKubectl(t.Context(), c, c.Kubeconfig(), "", args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

func tryKubectl(ctx context.Context, c *Cluster, kubeconfig, stdin string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, c.Kubectl(), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	return string(out), err
}

func apply(t *testing.T, c *Cluster, manifest string) {
	t.Helper()
	if out, err := tryKubectl(t.Context(), c, c.Kubeconfig(), manifest, "apply", "-f", "-"); err != nil {
		t.Fatalf("apply: %v: %s", err, out)
	}
}

func waitPhase(t *testing.T, c *Cluster, pod, phase string) {
	t.Helper()
	kubectl(t, c, "wait", "--timeout=60s", "--for=jsonpath={.status.phase}="+phase, "pod/"+pod)
}

func TestRealNode(t *testing.T) {
	c := bring(t, layout.Node)
	apply(t, c, pods)
	waitPhase(t, c, "hello", "Succeeded")
	if got := kubectl(t, c, "logs", "hello"); got != "hello\n" {
		t.Errorf("logs of hello: got %q, want hello", got)
	}
	kubectl(t, c, "wait", "--timeout=60s", "--for=condition=Ready", "pod/web")
	address := kubectl(t, c, "get", "service", "nginx", "-o=jsonpath={.spec.clusterIP}")
	for _, url := range []string{"http://" + address + "/", "http://nginx/", "http://nginx.default.svc.cluster.local/"} {
		if err := fetch(t.Context(), c, url); err != nil {
			t.Error(err)
		}
	}
	if out, err := tryKubectl(t.Context(), c, c.Kubeconfig(), "", "exec", "web", "--", "wget", "-qO-", "http://example.com/"); err == nil {
		t.Errorf("a name outside the cluster was found: %s", out)
	}
	checkLoad(t, c)
	checkSecondUp(t, c)
}

// fetch gets the URL from within a Pod. The proxy rules of a new Service take a moment, so it retries for a while.
func fetch(ctx context.Context, c *Cluster, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return c.poll(ctx, func() error {
		// Not wget -T: with it, Debian's static busybox crashes.
		_, err := tryKubectl(ctx, c, c.Kubeconfig(), "", "exec", "web", "--", "timeout", "2", "wget", "-qO-", url)
		return err
	})
}

// checkLoad runs a locally built image: the pause program of the cache.
func checkLoad(t *testing.T, c *Cluster) {
	t.Helper()
	files, err := archive.FromPath(c.Cache.Bin("pause"))
	if err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/loaded.tar"
	loaded := archive.Image{Entrypoint: []string{"/pause"}, User: "65532:65532", Files: files}
	if err := loaded.WriteFile(file, "loaded:dev"); err != nil {
		t.Fatal(err)
	}
	if err := c.Load(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	kubectl(t, c, "run", "loaded", "--image=loaded:dev")
	waitPhase(t, c, "loaded", "Running")
}

// checkSecondUp checks that a second Up finds the running cluster.
func checkSecondUp(t *testing.T, c *Cluster) {
	t.Helper()
	again, err := Up(t.Context(), Options{Name: c.Name})
	if err != nil {
		t.Fatal(err)
	}
	if again.Port != c.Port {
		t.Errorf("second Up: port %d, want that of the first, %d", again.Port, c.Port)
	}
}

func TestKwok(t *testing.T) {
	c := bring(t, layout.Kwok)
	apply(t, c, pods)
	waitPhase(t, c, "hello", "Succeeded")
	waitPhase(t, c, "web", "Running")
	checkUser(t, c)
	checkKill(t, c)
	checkSecondUp(t, c)
}

// checkKill checks that killed components are restarted without losing data.
func checkKill(t *testing.T, c *Cluster) {
	t.Helper()
	for _, component := range []string{"kube-apiserver", "etcd"} {
		before, err := proc.Recorded(c.RunDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Kill(component); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = c.poll(ctx, func() error {
			now, err := proc.Recorded(c.RunDir())
			if err == nil && now[component] == before[component] {
				err = errors.New("has not been started again")
			}
			return err
		})
		if err == nil {
			err = c.AwaitReady(ctx)
		}
		if err != nil {
			t.Fatalf("%s: %v", component, err)
		}
		kubectl(t, c, "get", "pod/web")
	}
	for _, none := range []string{"kubelet", "init"} {
		if err := c.Kill(none); err == nil || !strings.Contains(err.Error(), "no such component") {
			t.Errorf("kill %s: got %v", none, err)
		}
	}
}

// checkUser checks that another user has exactly the granted permissions, and that each of its requests is in the audit
// log.
func checkUser(t *testing.T, c *Cluster) {
	t.Helper()
	kubeconfig, err := c.WriteUserKubeconfig(t.TempDir(), "alice", "readers")
	if err != nil {
		t.Fatal(err)
	}
	mark, err := c.Audit().Mark()
	if err != nil {
		t.Fatal(err)
	}
	raw := []string{"get", "--raw", "/api/v1/namespaces/default/pods/hello"}
	if out, err := tryKubectl(t.Context(), c, kubeconfig, "", raw...); err == nil || !strings.Contains(out, "forbidden") {
		t.Errorf("without permissions: got %v %s, want forbidden", err, out)
	}
	kubectl(t, c, "create", "rolebinding", "readers", "--clusterrole=view", "--group=readers")
	if out, err := tryKubectl(t.Context(), c, kubeconfig, "", raw...); err != nil {
		t.Errorf("with permissions: %v: %s", err, out)
	}
	events, err := c.Audit().Since(mark, audit.By("alice"))
	if err != nil {
		t.Fatal(err)
	}
	var codes []int
	for _, event := range events {
		codes = append(codes, event.ResponseStatus.Code)
	}
	if len(codes) != 2 || codes[0] != 403 || codes[1] != 200 {
		t.Errorf("audit log: got %v, want answers 403 and 200", events)
	}
}
