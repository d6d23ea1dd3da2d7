package e2e

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var orchestrs = schema.GroupVersionResource{Group: "kopf.dev", Version: "v1", Resource: "orchestrs"}

// hostile writes a log that must be preserved: YAML, a template, invalid UTF-8, and 8 MiB without a newline. The kubelet
// rotates a log of 10 MiB while the container runs, and its end may be empty then.
const hostile = `
apiVersion: v1
kind: Pod
metadata: {name: hostile}
spec:
  restartPolicy: Never
  containers:
  - name: text
    image: busybox:1.36
    imagePullPolicy: IfNotPresent
    command: [printf, 'a: b\n- {{ fail "x" }}\n---\npassword=hunter2\n\377\376']
  - name: long
    image: busybox:1.36
    imagePullPolicy: IfNotPresent
    command: [sh, -c, 'head -c 8388608 /dev/zero | tr "\0" x; printf end; exit 1']
`

// orchestr follows the page of the sample. An operator must be running.
func (s *scope) orchestr() {
	t := s.t
	t.Helper()
	begun := time.Now()
	for _, step := range shownIn(t, "config/samples/orchestr/README.md", "Try it") {
		s.follow(step)
	}
	s.apply(hostile)

	// As on the page.
	s.shell("kubectl set image pod broken-image main=busybox:1.36")
	s.shell("kubectl run broken-later --image=busybox:1.36 --image-pull-policy=IfNotPresent --restart=Never -- sh -c 'sleep 1; echo no; exit 1'")
	waitFor(t, s.in(pods), "broken-later", func(o *unstructured.Unstructured) error {
		if phase, _, _ := unstructured.NestedString(o.Object, "status", "phase"); phase != "Failed" {
			return fmt.Errorf("the Pod is %s", phase)
		}
		return nil
	})
	failed := time.Now()
	s.reported("broken-later", func(pod map[string]any) error { return have(pod, "status", "Failed") })
	t.Logf("reported %s after it was seen to have failed", time.Since(failed))
	s.reported("broken-later", func(pod map[string]any) error { return have(containerOf(pod, "broken-later"), "log", "no\n") })
	s.reported("broken-memory", func(pod map[string]any) error {
		return errors.Join(have(containerOf(pod, "main"), "exitCode", int64(137)), have(containerOf(pod, "main"), "log", "reading all of it\n"))
	})
	s.reported("broken-size", func(pod map[string]any) error {
		if text, _ := pod["message"].(string); !strings.Contains(text, "Insufficient memory") {
			return fmt.Errorf("the message is %q", text)
		}
		return nil
	})
	s.reported("broken-image", func(pod map[string]any) error {
		if pod != nil {
			return fmt.Errorf("it is reported, though it was repaired: %v", pod)
		}
		return nil
	})
	s.reported("hostile", func(pod map[string]any) error {
		return errors.Join(
			have(containerOf(pod, "text"), "log", "a: b\n- {{ fail \"x\" }}\n---\npassword=hunter2\n\uFFFD"),
			have(containerOf(pod, "long"), "log", strings.Repeat("x", 1021)+"end"),
		)
	})
	for what, out := range map[string]string{
		"the operator's log": s.shell("kubectl -n templater-system logs deployment/templater --all-pods"),
		"an Event":           s.shell("kubectl get events -o yaml"),
	} {
		if strings.Contains(out, "hunter2") {
			t.Errorf("%s holds a line of a log", what)
		}
	}
	s.shell("kubectl delete pod --all --wait=false --grace-period=0 --force")
	s.shell("kubectl delete -k config/samples/orchestr --wait=false")
	s.shell("kubectl delete crd orchestrs.kopf.dev --wait=false")
	t.Logf("the sample took %s", time.Since(begun))
}

// reported waits until check accepts the report on a Pod of the test; a nil check means that the Pod must not be in the
// report.
func (s *scope) reported(name string, check func(pod map[string]any) error) {
	s.t.Helper()
	eventually(s.t, soon, func() error {
		o, err := s.in(orchestrs).Get(s.t.Context(), "example-03", getOptions)
		if err != nil {
			return err
		}
		all, _, _ := unstructured.NestedSlice(o.Object, "status", "pods")
		var found map[string]any
		for _, item := range all {
			if pod, ok := item.(map[string]any); ok && pod["name"] == name && pod["namespace"] == s.ns {
				found = pod
			}
		}
		return check(found)
	})
}

// containerOf returns the report on a container.
func containerOf(pod map[string]any, name string) map[string]any {
	all, _ := pod["containers"].([]any)
	for _, item := range all {
		if c, ok := item.(map[string]any); ok && c["name"] == name {
			return c
		}
	}
	return nil
}

func have(in map[string]any, key string, want any) error {
	if in[key] != want {
		return fmt.Errorf("%s is %.200q, want %.200q", key, in[key], want)
	}
	return nil
}
