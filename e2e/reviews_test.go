package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// worstReviews are reviews of TemplateControllers of the test's class that cost the most work and memory: with
// templates that are too long, with too many child templates, and of the maximum size.
func worstReviews(t *testing.T) map[string]string {
	review := func(templates []string) string {
		var children []string
		for i, template := range templates {
			children = append(children, fmt.Sprintf(`{"name":"%d","template":"%s"}`, i, template))
		}
		return `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "operation": "CREATE", "object": {"metadata": {"name": "worst"}, "spec": {` +
			`"className": "` + classOf(t) + `", "watch": {"apiVersion": "v1", "kind": "Pod"}, "children": [` + strings.Join(children, ",") + `]}}}}`
	}
	templates := func(number int, text string) []string { return slices.Repeat([]string{text}, number) }
	largest := append(templates(11, "a: ["+strings.Repeat(":,", 60_000)+"]"), "{{ print"+strings.Repeat(" 1", 49_900)+" }}")
	return map[string]string{
		"templates that are too long": review(templates(8, strings.Repeat("{{1}}", 104_000))),
		"too many entries":            review(templates(50_000, "")),
		"as large as may be":          review(largest),
	}
}

// attack runs clients without credentials, each of which sends a review repeatedly until the context ends, and counts
// the responses by status code.
type attack struct {
	mu       sync.Mutex
	answered map[string]map[int]int
	done     sync.WaitGroup
}

func newAttack(ctx context.Context, url string, reviews map[string]string) *attack {
	a := &attack{answered: map[string]map[int]int{}}
	for name, review := range reviews {
		a.answered[name] = map[int]int{}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		a.done.Go(func() {
			for ctx.Err() == nil {
				a.send(ctx, client, url, name, review)
			}
		})
	}
	return a
}

func (a *attack) send(ctx context.Context, client *http.Client, url, name, review string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(review))
	if err != nil {
		return
	}
	answer, err := client.Do(request)
	if err != nil {
		return // connection closed, or ctx is done
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answered[name][answer.StatusCode]++
}

// tally returns the counts as text, and whether each review was allowed or denied at least that often.
func (a *attack) tally(least int) (text string, enough bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	enough = true
	for _, codes := range a.answered {
		enough = enough && codes[http.StatusOK] >= least
	}
	out, _ := json.Marshal(a.answered)
	return string(out), enough
}

// TestMaliciousReviewsDoNotDelayNeighbors has three clients without credentials send the worst reviews continuously to
// templater with the memory limit that it is shipped with. Meanwhile, users write TemplateControllers, and parents of
// another one are reconciled.
func TestMaliciousReviewsDoNotDelayNeighbors(t *testing.T) {
	parallel(t)
	a := newAsked(t)
	goLimit, limit := shippedMemory(t)
	op := startOperatorIn(t, []string{"GOMEMLIMIT=" + goLimit}, userA(t), "--leader-elect-resource-namespace", a.ns, "--webhook-bind-address", a.addresses[0], "--webhook-namespace", a.ns)
	op.waitLeading(soon)
	a.waitChecked("at first")
	n := newNeighbor(a.scope)
	quiet := n.waits(5)

	ctx, end := context.WithCancel(t.Context())
	attack := newAttack(ctx, a.url(0), worstReviews(t))
	defer attack.done.Wait()
	defer end()
	const least = 5
	checked, slowest := 0, time.Duration(0)
	for round := range 5 {
		told, took := a.write(fmt.Sprint("@id-honest-", round))
		slowest = max(slowest, took)
		if told {
			checked++
		}
	}
	beside := n.waits(5)
	eventually(t, soon, func() error {
		if text, enough := attack.tally(least); !enough {
			return errors.New("the reviews were answered only so often: " + text)
		}
		return nil
	})
	end()
	attack.done.Wait()

	text, _ := attack.tally(least)
	t.Logf("a new parent waits for %v, and %v beside; %d of 5 writers get the error, the slowest write takes %v; the reviews were answered %s", quiet, beside, checked, slowest, text)
	op.withinMemory(limit)
	select {
	case err := <-op.exited:
		op.over = true
		t.Errorf("the operator has ended: %v", err)
	default:
	}
	a.waitChecked("afterwards")
}

// write creates a valid TemplateController, which must succeed however busy the webhook is, and tries an invalid one.
// It returns whether the webhook reported the mistake, and the longer of both durations.
func (a *asked) write(name string) (told bool, took time.Duration) {
	a.t.Helper()
	create := func(line string, options metav1.CreateOptions) error {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(a.authored(name, line)), &o.Object); err != nil {
			a.t.Fatal(err)
		}
		begun := time.Now()
		_, err := env.client.Resource(controllers).Create(a.t.Context(), o, options)
		took = max(took, time.Since(begun))
		return err
	}
	err := create("a: {{ nothing }}", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if told = err != nil; told && !strings.Contains(err.Error(), "unknown function nothing") {
		a.t.Errorf("a TemplateController with a mistake is refused for another reason: %v", err)
	}
	if err := create("a: b", metav1.CreateOptions{}); err != nil {
		a.t.Errorf("a TemplateController that is fine is refused: %v", err)
	}
	return told, took
}
