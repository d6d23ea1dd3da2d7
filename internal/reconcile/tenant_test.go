package reconcile

import (
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
)

func TestWhoseAControllerIs(t *testing.T) {
	all := newTenants()
	for _, step := range []struct {
		why, want string
		known     bool
		do        func()
	}{
		{"nothing is known of it", "a", false, func() {}},
		{"it names no account", "a", true, func() { all.set("a", nil) }},
		{"it names one", "namespace/team", true, func() { all.set("a", &v1.ServiceAccountRef{Namespace: "team", Name: "robot"}) }},
		{"it names none any more", "a", true, func() { all.set("a", nil) }},
		{"it is gone", "a", false, func() { all.forgetController("a") }},
	} {
		step.do()
		if got, known := all.tenant("a"); got != step.want || known != step.known {
			t.Errorf("%s: %q, known %v, want %q, %v", step.why, got, known, step.want, step.known)
		}
	}
}
