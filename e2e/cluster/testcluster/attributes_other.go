//go:build unix && !linux

package testcluster

import (
	"syscall"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

func initAttributes(layout.Mode) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
