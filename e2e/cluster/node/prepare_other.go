//go:build unix && !linux

package node

import (
	"errors"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

func prepare(*layout.Cluster, string) error { return errors.ErrUnsupported }

// Forward needs network namespaces.
func Forward() error { return errors.ErrUnsupported }

// CreateCgroups needs Linux.
func CreateCgroups(string) error { return errors.ErrUnsupported }

// RemoveCgroups has nothing to remove here.
func RemoveCgroups(string) error { return nil }

// CheckCgroups needs Linux.
func CheckCgroups() error { return errors.ErrUnsupported }
