//go:build !linux

package build

func missingRights() []string { return []string{"a real node needs Linux; use --mode=kwok"} }
