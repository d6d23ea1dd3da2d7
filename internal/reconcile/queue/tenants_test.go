package queue

import (
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
)

func TestWhoseAControllerIs(t *testing.T) {
	all := NewTenants()
	for _, step := range []struct {
		why, want string
		known     bool
		do        func()
	}{
		{"nothing is known of it", "a", false, func() {}},
		{"it names no account", "a", true, func() { all.Set("a", nil) }},
		{"it names one", "namespace/team", true, func() { all.Set("a", &v1.ServiceAccountRef{Namespace: "team", Name: "robot"}) }},
		{"it names none any more", "a", true, func() { all.Set("a", nil) }},
		{"it is gone", "a", false, func() { all.ForgetController("a") }},
	} {
		step.do()
		if got, known := all.Of("a"); got != step.want || known != step.known {
			t.Errorf("%s: %q, known %v, want %q, %v", step.why, got, known, step.want, step.known)
		}
	}
}

func TestWhetherThereAreSeveralTenants(t *testing.T) {
	all := NewTenants()
	team := &v1.ServiceAccountRef{Namespace: "team", Name: "robot"}
	for _, step := range []struct {
		why  string
		do   func()
		want bool
	}{
		{"there is none", func() {}, false},
		{"there is one", func() { all.Set("a", team) }, false},
		{"it says so again", func() { all.Set("a", team) }, false},
		{"another controller is of the same", func() { all.Set("b", team) }, false},
		{"that has no account any more", func() { all.Set("b", nil) }, true},
		{"one is gone that nobody knows", func() { all.ForgetController("c") }, true},
		{"one is gone", func() { all.ForgetController("a") }, false},
	} {
		step.do()
		if got := all.Several(); got != step.want {
			t.Errorf("%s: several %v, want %v", step.why, got, step.want)
		}
	}
}
