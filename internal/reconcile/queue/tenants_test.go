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
