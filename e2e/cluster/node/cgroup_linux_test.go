package node

import "testing"

func TestV1Options(t *testing.T) {
	for options, want := range map[string]string{
		"rw,relatime,cpu":                     "cpu",
		"rw,nosuid,nodev,noexec,cpu,cpuacct":  "cpu,cpuacct",
		"rw,relatime,name=systemd":            "none,name=systemd",
		"rw,xattr,release_agent=/x,name=sysd": "none,name=sysd",
	} {
		if got := v1Options(options); got != want {
			t.Errorf("v1Options(%q) = %q, want %q", options, got, want)
		}
	}
}
