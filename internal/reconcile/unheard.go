package reconcile

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/rights"
)

// Events are written as the account of the controller. Where that may not do so, they are left out: the
// TemplateController says so, the server is not asked again for a while, and the parents that there was something to say
// about are looked at again once it is allowed.

var events = schema.GroupResource{Group: "events.k8s.io", Resource: "events"}

// audience is who writes Events, and where.
type audience struct{ as, namespace string }

// refusal is what the server answered to an Event when it missed a right.
type refusal struct {
	audience
	err error
	at  time.Time
}

// announce publishes an Event about a parent, or what was one, as that user.
func (r *Reconciler) announce(as string, key queue.Key, what kube.Announcement) {
	to := audience{as, kube.EventNamespace(what.About)}
	what.As = as
	what.Wanted = func() bool {
		wanted, news := r.said.wanted(key, to)
		if news {
			r.controllers.queue.AddAfter(key.Controller, countsDelay)
		}
		return wanted
	}
	what.Answered = func(err error) {
		keys, changed := r.said.answered(key, to, err)
		for _, other := range keys {
			r.queue.Add(other)
		}
		for _, name := range changed {
			r.controllers.queue.Add(name)
		}
	}
	what.Message = problem.Line(what.Message)
	r.events.Announce(what) //nolint:forbidigo // this is the place
}

// wanted reports whether an Event is worth a request. If not, it counts as not said; news is whether that is new.
func (s *said) wanted(key queue.Key, to audience) (wanted, news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.refused[to]
	if last == nil || s.clock.Since(last.at) >= problem.SlowRetry {
		return true, false
	}
	delete(s.last, key)
	_, known := s.unheard[key]
	s.unheard[key] = last
	return false, !known
}

// answered takes the server's answer to an Event. It returns the parents that Events can be said about now, and the controllers
// whose condition may have changed.
func (s *said) answered(key queue.Key, to audience, err error) (again []queue.Key, changed []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil && len(s.refused)+len(s.unheard) == 0: // as nearly always
	case err == nil:
		delete(s.refused, to)
		delete(s.unheard, key)
		for other, refused := range s.unheard {
			if refused.audience == to {
				delete(s.unheard, other)
				again = append(again, other)
			}
		}
		return again, controllersOf(append(again, key))
	case rights.Denied(err):
		s.sweep()
		_, known := s.unheard[key]
		delete(s.last, key)
		s.refused[to] = &refusal{to, err, s.clock.Now()}
		s.unheard[key] = s.refused[to]
		if !known {
			return nil, []string{key.Controller}
		}
	}
	return nil, nil
}

// sweep forgets refusals that keep nobody from asking any more; the lock is held.
func (s *said) sweep() {
	for to, last := range s.refused {
		if s.clock.Since(last.at) >= problem.SlowRetry {
			delete(s.refused, to)
		}
	}
}

func controllersOf(keys []queue.Key) []string {
	names := map[string]bool{}
	for _, key := range keys {
		names[key.Controller] = true
	}
	return sortedKeys(names)
}

// silence returns some refusals of Events of a controller that works as the user, in order of their namespaces, each with a
// parent that one is about.
func (s *said) silence(controller, as string) []unsaid {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := map[string]unsaid{}
	for key, last := range s.unheard {
		if key.Controller != controller || last.as != as {
			continue
		}
		known, found := first[last.namespace]
		if !found || key.Parent.String() < known.key.Parent.String() {
			first[last.namespace] = unsaid{key, last}
		}
	}
	var all []unsaid
	for _, namespace := range sortedKeys(first) {
		all = append(all, first[namespace])
	}
	return all[:min(len(all), problem.MostListed)]
}

// unsaid is an Event that was refused.
type unsaid struct {
	key queue.Key
	*refusal
}

// sayAgain has one of the parents looked at in each of the namespaces where Events were refused, to try again.
func (c *Controllers) sayAgain(next *controller) {
	all := c.said.silence(next.name, next.as)
	for _, one := range all {
		switch due := c.clock.Since(one.at) >= problem.SlowRetry; {
		case due && next.parent(one.key.Parent) == nil:
			c.said.forget(one.key) // it has left, and no pass has anything to say about it
		case due:
			c.parents.Add(one.key)
		}
	}
	if len(all) > 0 {
		c.queue.AddAfter(next.name, problem.SlowRetry)
	}
}

// eventsCondition says that Events about parents are left out, or is nil where they are not. pending tells that there will
// soon be more to say.
func (c *controller) eventsCondition(said *said) (condition *metav1.Condition, pending bool) {
	var texts []string
	for _, one := range said.silence(c.name, c.as) {
		need := rights.Claim{As: c.as, Use: rights.Events, Resource: events, Namespaced: true, Namespace: one.namespace}
		if c.gvk.Group == "" && c.gvk.Kind == "Namespace" { // each is one more where Events are written
			need.Namespace, need.Unlimited = "", true
		}
		text, more := c.rights.Missing(one.err, need)
		pending = pending || more
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return nil, false
	}
	texts = slices.Compact(texts)
	return &metav1.Condition{
		Type: v1.ConditionEventsWritable, Status: metav1.ConditionFalse, Reason: v1.ReasonForbidden,
		Message: "Events about parents are left out: " + strings.Join(texts, "; "),
	}, pending
}
