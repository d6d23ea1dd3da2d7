package build

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/templater-dev/templater/e2e/cluster/node"
)

// capabilities that a real node requires; root in a container may lack them.
var capabilities = []struct {
	bit  uint
	name string
}{
	{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
	{unix.CAP_NET_ADMIN, "CAP_NET_ADMIN"},
}

func missingRights() []string {
	if os.Geteuid() != 0 {
		return []string{"a real node needs root; use sudo or --mode=kwok"}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData // version 3 uses two
	if err := unix.Capget(&header, &data[0]); err != nil {
		return []string{fmt.Sprintf("the capabilities of this process are unknown: %v", err)}
	}
	var missing []string
	for _, c := range capabilities {
		if data[0].Effective&(1<<c.bit) == 0 {
			missing = append(missing, "a real node needs "+c.name+"; use --mode=kwok")
		}
	}
	if err := node.CheckCgroups(); err != nil {
		missing = append(missing, fmt.Sprintf("a real node needs cgroups (%v); use --mode=kwok", err))
	}
	return missing
}
