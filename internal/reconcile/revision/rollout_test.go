package revision

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/templater-dev/templater/api/v1"
)

// simulation runs a rollout over parents that become ready, or fail, as soon as they are updated.
type simulation struct {
	Progress
	t     *testing.T
	fails map[types.UID]bool
}

func parentsOf(n int) (all []Parent) {
	for i := range n {
		all = append(all, Parent{Name: types.NamespacedName{Name: fmt.Sprint("p", i)}, UID: types.UID(fmt.Sprint("uid-", i)), Labels: labels.Set{}, Ready: true})
	}
	return all
}

func steps(all ...any) (out []intstr.IntOrString) {
	for _, s := range all {
		if n, number := s.(int); number {
			out = append(out, intstr.FromInt(n)) //nolint:gosec // small
		} else {
			out = append(out, intstr.FromString(s.(string)))
		}
	}
	return out
}

func simulate(t *testing.T, n int, rollout v1.Rollout) *simulation {
	t.Helper()
	s := &simulation{t: t, fails: map[types.UID]bool{}}
	s.ID, s.Spec, s.Parents, s.Now = "new", rollout, parentsOf(n), time.Unix(1e9, 0)
	s.State = Begin("old", rollout, nil)
	return s
}

// decide decides once, and updates the parents that are admitted now.
func (s *simulation) decide() Decision {
	s.t.Helper()
	d, err := Next(s.Progress)
	if err != nil {
		s.t.Fatal(err)
	}
	s.State, s.ReadySince = d.State, d.ReadySince
	for i := range s.Parents {
		if p := &s.Parents[i]; s.admitted().Has(p.UID) {
			p.Updated, p.Failed = true, s.fails[p.UID]
			p.Ready = !p.Failed
		}
	}
	return d
}

func (s *simulation) admitted() Selection {
	s.t.Helper()
	a, err := SelectedBy(s.State.From, s.State.Selected)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (s *simulation) updated() (n int) {
	for _, p := range s.Parents {
		if s.admitted().Has(p.UID) {
			n++
		}
	}
	return n
}

// run decides until nothing changes, and returns the numbers of admitted parents after each step.
func (s *simulation) run() (counts []int, last Decision) {
	s.t.Helper()
	for range 100 {
		last = s.decide()
		if n := s.updated(); len(counts) == 0 || counts[len(counts)-1] != n {
			counts = append(counts, n)
		}
		if last.After > 0 {
			s.Now = s.Now.Add(last.After)
		} else if !last.Changed {
			return counts, last
		}
	}
	s.t.Fatal("the rollout does not end")
	return nil, last
}

func TestStepsAdmitParentsInOrder(t *testing.T) {
	for _, row := range []struct {
		why     string
		parents int
		steps   []intstr.IntOrString
		want    string
	}{
		{"numbers and percentages", 100, steps(1, "10%", "50%", "100%"), "[1 10 50 100]"},
		{"no steps: all at once", 100, nil, "[100]"},
		{"percentages are rounded up", 5, steps("1%", "21%", "50%"), "[1 2 3 5]"},
		{"the last step has all parents", 10, steps(3), "[3 10]"},
		{"more than there are", 2, steps(5, 10), "[2]"},
		{"one parent", 1, steps(1, "10%", "50%", "100%"), "[1]"},
		{"two parents", 2, steps(1, "10%", "50%", "100%"), "[1 2]"},
		{"five parents", 5, steps(1, "10%", "50%", "100%"), "[1 3 5]"},
		{"no parents", 0, steps(1, "10%"), "[0]"},
		{"a step of none", 3, steps(0, "0%", 1), "[0 1 3]"},
		{"descending steps exclude nobody", 10, steps(5, 2), "[5 10]"},
	} {
		t.Run(row.why, func(t *testing.T) {
			counts, last := simulate(t, row.parents, v1.Rollout{Steps: row.steps}).run()
			if got := fmt.Sprint(counts); got != row.want || !last.Done || last.Reason != v1.ReasonRolloutComplete {
				t.Errorf("admitted %s, done %t (%s), want %s", got, last.Done, last.Reason, row.want)
			}
		})
	}
}

func TestCanariesAreFirst(t *testing.T) {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "canary"}}
	for _, row := range []struct {
		why   string
		steps []intstr.IntOrString
		want  string
	}{
		{"without steps, all canaries and then all", nil, "[3 20]"},
		{"with steps, the first ones", steps(2, "50%"), "[2 10 20]"},
	} {
		t.Run(row.why, func(t *testing.T) {
			s := simulate(t, 20, v1.Rollout{Steps: row.steps, CanarySelector: selector})
			for i := range 3 {
				s.Parents[17+i].Labels = labels.Set{"tier": "canary"}
			}
			s.decide()
			for i, p := range s.Parents[:17] {
				if s.admitted().Has(p.UID) {
					t.Errorf("parent %d is admitted before the canaries", i)
				}
			}
			counts := []int{s.updated()}
			more, _ := s.run()
			if got := fmt.Sprint(append(counts, more...)); got != row.want {
				t.Errorf("admitted %s, want %s", got, row.want)
			}
		})
	}
}

func TestFailuresHaltRollout(t *testing.T) {
	for _, row := range []struct {
		why       string
		maxFailed int32
		notReady  int // parents that are not ready before the rollout
		fails     int
		want      string
		message   string
	}{
		{"none fails", 0, 0, 0, "[10 100]", ""},
		{"one fails", 0, 0, 1, "[10]", "step 1 of 2: 1 of 10 parents have failed, for example /p"},
		{"fewer than allowed", 2, 0, 2, "[10 100]", ""},
		{"more than allowed", 2, 0, 3, "[10]", "step 1 of 2: 3 of 10 parents have failed"},
		{"as many were not ready before", 0, 3, 3, "[10 100]", ""},
		{"more than were not ready before", 0, 3, 4, "[10]", "step 1 of 2: 4 of 10 parents have failed"},
	} {
		t.Run(row.why, func(t *testing.T) {
			s := simulate(t, 100, v1.Rollout{Steps: steps(10), MaxFailed: row.maxFailed})
			first := simulate(t, 100, v1.Rollout{Steps: steps(10)})
			first.decide()
			changed := 0
			for i, p := range s.Parents { // of the first step
				if first.admitted().Has(p.UID) {
					s.fails[p.UID] = changed < row.fails
					s.Parents[i].Ready = changed >= row.notReady
					changed++
				}
			}
			counts, last := s.run()
			if got := fmt.Sprint(counts); got != row.want || !strings.HasPrefix(last.Message, row.message) {
				t.Errorf("admitted %s (%s: %s), want %s %s", got, last.Reason, last.Message, row.want, row.message)
			}
			if halted := row.message != ""; s.State.Halted != halted || halted && last.Reason != v1.ReasonRolloutHalted {
				t.Errorf("halted %t, %s", s.State.Halted, last.Reason)
			}
		})
	}
}

func TestHaltedRolloutContinuesOnlyAfterRetry(t *testing.T) {
	s := simulate(t, 10, v1.Rollout{Steps: steps(1)})
	for _, p := range s.Parents {
		s.fails[p.UID] = true
	}
	s.run()
	clear(s.fails)
	for range 3 {
		if d := s.decide(); d.Changed || d.Reason != v1.ReasonRolloutHalted || s.updated() != 1 {
			t.Fatalf("%d are admitted: %+v", s.updated(), d)
		}
	}
	s.Spec.Retry = 1
	if counts, last := s.run(); fmt.Sprint(counts) != "[1 10]" || !last.Done {
		t.Errorf("admitted %v, %+v", counts, last)
	}
}

func TestReadyTimeoutHalts(t *testing.T) {
	s := simulate(t, 10, v1.Rollout{Steps: steps(1), ReadyTimeout: "10m"})
	s.decide()
	for i := range s.Parents {
		s.Parents[i].Ready = false
	}
	d, err := Next(s.Progress)
	if err != nil || d.Changed || d.After != 10*time.Minute {
		t.Fatalf("%+v, %v", d, err)
	}
	s.Now = s.Now.Add(10 * time.Minute)
	if d, _ = Next(s.Progress); !d.State.Halted || !strings.HasPrefix(d.Message, "step 1 of 2: 1 of 1 parents are not ready after 10m; ") {
		t.Errorf("%+v", d)
	}
}

func TestReadyTimeoutOutlastsWrongClock(t *testing.T) {
	s := simulate(t, 10, v1.Rollout{Steps: steps(1), ReadyTimeout: "10m"})
	s.Now = s.Now.Add(24 * time.Hour)
	s.decide()
	s.Now = s.Now.Add(-24 * time.Hour)
	for i := range s.Parents {
		s.Parents[i].Ready = false
	}
	d, err := Next(s.Progress)
	if err != nil || !d.Changed || d.After != 10*time.Minute || !d.State.Started.Time.Equal(s.Now) {
		t.Fatalf("%+v, %v", d, err)
	}
	s.State = d.State
	if d, _ = Next(s.Progress); d.Changed {
		t.Errorf("the start is stored again: %+v", d)
	}
}

func TestIntervalDelaysNextStep(t *testing.T) {
	s := simulate(t, 10, v1.Rollout{Steps: steps(1), Interval: "5m"})
	s.decide()
	start := s.Now
	if d := s.decide(); d.After != 5*time.Minute || s.updated() != 1 {
		t.Fatalf("%+v", d)
	}
	s.Now = start.Add(5*time.Minute - time.Second)
	if d := s.decide(); d.After != time.Second || d.Changed {
		t.Fatalf("%+v", d)
	}
	s.Now = start.Add(5 * time.Minute)
	if d := s.decide(); !d.Changed || s.updated() != 10 {
		t.Fatalf("%+v", d)
	}
}

func TestRolloutWaitsForUser(t *testing.T) {
	for _, row := range []struct {
		why    string
		spec   v1.Rollout
		reason string
	}{
		{"paused", v1.Rollout{Paused: true}, v1.ReasonRolloutPaused},
		{"not approved", v1.Rollout{Approval: v1.ApprovalRequired}, v1.ReasonApprovalRequired},
		{"another revision is approved", v1.Rollout{Approval: v1.ApprovalRequired, ApprovedRevision: "other"}, v1.ReasonApprovalRequired},
		{"approved", v1.Rollout{Approval: v1.ApprovalRequired, ApprovedRevision: "new"}, v1.ReasonRolloutComplete},
		{"needs no approval", v1.Rollout{Approval: v1.ApprovalNone}, v1.ReasonRolloutComplete},
	} {
		t.Run(row.why, func(t *testing.T) {
			s := simulate(t, 3, row.spec)
			counts, last := s.run()
			if admitted := counts[len(counts)-1]; last.Reason != row.reason || (admitted > 0) != last.Done {
				t.Errorf("%d admitted, %s", admitted, last.Reason)
			}
		})
	}
}

func TestPauseKeepsStep(t *testing.T) {
	s := simulate(t, 10, v1.Rollout{Steps: steps(1)})
	s.decide()
	s.Spec.Paused = true
	if d := s.decide(); d.Reason != v1.ReasonRolloutPaused || s.updated() != 1 {
		t.Errorf("%d admitted: %+v", s.updated(), d)
	}
	s.Spec.Paused = false
	if _, last := s.run(); !last.Done {
		t.Errorf("%+v", last)
	}
}

func TestThresholdNeverDecreases(t *testing.T) {
	s := simulate(t, 10, v1.Rollout{Steps: steps("50%", "60%")})
	s.decide()
	before := s.admitted()
	s.Parents = s.Parents[:2] // many parents are deleted
	s.decide()
	for _, p := range parentsOf(10) {
		if before.Has(p.UID) && !s.admitted().Has(p.UID) {
			t.Errorf("%s is excluded again", p.Name)
		}
	}
}

// A rollout from the same revision has the same order, so parents with an superseded revision are the first to get the next one.
func TestSupersededParentsAreFirst(t *testing.T) {
	s := simulate(t, 100, v1.Rollout{Steps: steps(10)})
	s.decide()
	superseded := Supersede(s.State)
	if superseded == nil || superseded.Threshold != s.State.Selected.Threshold {
		t.Fatalf("superseded: %+v", superseded)
	}
	first := s.admitted()
	next := simulate(t, 100, v1.Rollout{Steps: steps(10)})
	next.State = Begin("old", next.Spec, superseded)
	next.decide()
	for _, p := range s.Parents {
		if first.Has(p.UID) != next.admitted().Has(p.UID) {
			t.Errorf("%s: the first steps differ", p.Name)
		}
	}
	if again := Supersede(next.State); again == nil || again.Threshold != superseded.Threshold {
		t.Errorf("equal selections are not merged: %+v", again)
	}
	if none := Supersede(Begin("old", next.Spec, nil)); none != nil {
		t.Errorf("a rollout without parents is superseded: %+v", none)
	}
}

func TestSupersededSelectionsAreMerged(t *testing.T) {
	for _, row := range []struct {
		why        string
		a, b, want v1.ParentSelection
	}{
		{"the greater threshold", v1.ParentSelection{Threshold: "fff"}, v1.ParentSelection{Threshold: "1000"}, v1.ParentSelection{Threshold: "1000"}},
		{"all canaries", v1.ParentSelection{Canaries: []types.UID{"b"}, Threshold: "1"}, v1.ParentSelection{Canaries: []types.UID{"a", "b"}}, v1.ParentSelection{Canaries: []types.UID{"a", "b"}, Threshold: "1"}},
		{"all", v1.ParentSelection{All: true}, v1.ParentSelection{}, v1.ParentSelection{All: true}},
		{"too many canaries", v1.ParentSelection{Canaries: uids("a", 600)}, v1.ParentSelection{Canaries: uids("b", 600)}, v1.ParentSelection{All: true}},
	} {
		t.Run(row.why, func(t *testing.T) {
			for _, got := range []v1.ParentSelection{union(row.a, row.b), union(row.b, row.a)} {
				if diff := cmp.Diff(row.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func uids(prefix string, n int) (out []types.UID) {
	for i := range n {
		out = append(out, types.UID(fmt.Sprint(prefix, i)))
	}
	return out
}

// A parent that got a revision keeps it, whatever becomes of its labels.
func TestSelectedParentsStaySelected(t *testing.T) {
	canary := labels.Set{"tier": "canary"}
	s := simulate(t, 20, v1.Rollout{Steps: steps(2, "50%"), Interval: "1h", CanarySelector: &metav1.LabelSelector{MatchLabels: canary}})
	s.Parents[3].Labels, s.Parents[5].Labels = canary, canary
	s.decide()
	if first := s.admitted(); s.updated() != 2 || !first.Has("uid-3") || !first.Has("uid-5") {
		t.Fatalf("admitted %+v", first)
	}
	s.Parents[3].Labels = labels.Set{}
	s.Parents = append(s.Parents, Parent{UID: "new", Labels: canary, Ready: true})
	s.decide()
	if now := s.admitted(); s.updated() != 2 || !now.Has("uid-3") {
		t.Errorf("after a change of labels: admitted %+v", now)
	}
	s.Now = s.Now.Add(time.Hour)
	s.decide()
	if now := s.admitted(); s.updated() != 11 || !now.Has("uid-3") || !now.Has("new") {
		t.Errorf("next step: %d of %d are admitted, %+v", s.updated(), len(s.Parents), now)
	}
}

func TestCanariesAreLimited(t *testing.T) {
	s := simulate(t, 1200, v1.Rollout{CanarySelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "canary"}}})
	for i := range s.Parents {
		s.Parents[i].Labels = labels.Set{"tier": "canary"}
	}
	if counts, last := s.run(); fmt.Sprint(counts) != "[1000 1200]" || !last.Done {
		t.Errorf("admitted %v, %+v", counts, last)
	}
}

func TestInvalidStateIsAnError(t *testing.T) {
	for why, progress := range map[string]Progress{
		"threshold": {State: v1.RolloutState{Step: 1, Selected: v1.ParentSelection{Threshold: "no number"}}},
		"canaries":  {Spec: v1.Rollout{CanarySelector: &metav1.LabelSelector{MatchLabels: map[string]string{"-": "-"}}}},
	} {
		t.Run(why, func(t *testing.T) {
			if d, err := Next(progress); err == nil {
				t.Errorf("%+v", d)
			}
		})
	}
}
