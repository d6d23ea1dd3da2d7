package node

import (
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// setUpNetwork gives the network namespace a loopback and a bridge that has the node's address. The default route leads
// nowhere; programs only check that there is one.
func setUpNetwork() error {
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find lo: %w", err)
	}
	if err := netlink.LinkSetUp(loopback); err != nil {
		return fmt.Errorf("set up lo: %w", err)
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "node0"}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("add the bridge: %w", err)
	}
	if err := address(bridge); err != nil {
		return err
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return fmt.Errorf("enable forwarding: %w", err)
	}
	return nil
}

func address(link netlink.Link) error {
	address, err := netlink.ParseAddr(layout.NodeNet)
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(link, address); err != nil {
		return fmt.Errorf("add the node's address: %w", err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("set up the bridge: %w", err)
	}
	everywhere := &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: everywhere, Scope: netlink.SCOPE_LINK}
	if err := netlink.RouteAdd(route); err != nil {
		return fmt.Errorf("add the default route: %w", err)
	}
	return nil
}
