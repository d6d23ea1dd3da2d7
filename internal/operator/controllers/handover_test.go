package controllers

import (
	"errors"
	"testing"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
)

func TestEachHandoverHasItsOwnTimeout(t *testing.T) {
	c := newCluster(t)
	e := newTracked("u")
	served := func(class string) *v1.TemplateController {
		return &v1.TemplateController{Status: v1.TemplateControllerStatus{ClassName: &class}}
	}
	for _, step := range []struct {
		why  string
		tc   *v1.TemplateController
		wait time.Duration
		took time.Duration // time until the next step
	}{
		{"b serves it", served("b"), handoverTime, time.Second},
		{"b serves it still", served("b"), handoverTime - time.Second, time.Second},
		{"we do", served(""), 0, handoverTime},
		{"b serves it again", served("b"), handoverTime, time.Second},
		{"c does", served("c"), handoverTime, time.Second},
		{"nobody does", &v1.TemplateController{}, 0, handoverTime},
		{"c does again", served("c"), handoverTime, 2 * handoverTime},
		{"c does not answer", served("c"), 0, 0},
	} {
		if got := c.controllers.handover(step.tc, e); got != step.wait {
			t.Errorf("%s: waits %v, want %v", step.why, got, step.wait)
		}
		c.Clock.SetTime(c.Clock.Now().Add(step.took))
	}
}

func TestTakeoverByAnotherClassResetsController(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(ofClass(""))
	c.KubectlApply(anApp)
	c.Run()
	if c.controllers.tracked["apps"].since.IsZero() {
		t.Fatal("it is not served")
	}
	c.ControllerQueue.Drop()
	c.give("b")
	c.Run()
	if !c.controllers.tracked["apps"].since.IsZero() {
		t.Error("it counts as served still")
	}
	if wait := c.ControllerQueue.Wait("apps"); wait != handoverTime {
		t.Errorf("looked at again after %v, want %v", wait, handoverTime)
	}
}

// unset is a watcher that cannot be changed.
type unset struct {
	watcher
	err error
}

func (u unset) Set(string, []watch.Want) (map[watch.Want]*watch.Cache, error) { return nil, u.err }

func TestFailedWatchUpdateReturnsError(t *testing.T) {
	for why, next := range map[string]string{"it is served": ofClass(""), "it is given up": ofClass("b")} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(ofClass(""))
			c.Run()
			c.KubectlApply(next)
			c.controllers.watches = unset{c, errors.New("no")}
			if err := c.controllers.Sync(t.Context(), "apps"); err == nil {
				t.Error("no error")
			}
			expect(t, why+": class", `""`, c.servedBy())
		})
	}
}
