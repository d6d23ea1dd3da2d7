package node

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// File descriptors that the forwarder inherits.
const (
	ListenerFD = 3 // listening socket on the host
	NetworkFD  = 4 // network namespace of the node
)

// Forward accepts connections on the host and forwards them to the API server in the node's network namespace, until it
// is killed.
func Forward() error {
	listener, err := net.FileListener(os.NewFile(ListenerFD, "listener"))
	if err != nil {
		return fmt.Errorf("use the listener: %w", err)
	}
	for {
		client, err := listener.Accept()
		if errors.Is(err, unix.EMFILE) {
			continue
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		go forward(client)
	}
}

func forward(client net.Conn) {
	defer client.Close()
	server, err := dialInside()
	if err != nil {
		report(err)
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client) // both sides notice a broken connection
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(client, server)
}

type dialed struct {
	conn net.Conn
	err  error
}

// dialInside connects from within the namespace. It does not unlock its thread, which therefore ends with the goroutine
// and is not reused.
func dialInside() (net.Conn, error) {
	result := make(chan dialed, 1)
	go func() {
		runtime.LockOSThread()
		if err := unix.Setns(NetworkFD, unix.CLONE_NEWNET); err != nil {
			result <- dialed{err: fmt.Errorf("enter the network namespace: %w", err)}
			return
		}
		conn, err := net.Dial("tcp", layout.NodeIP+":6443")
		result <- dialed{conn, err}
	}()
	got := <-result
	return got.conn, got.err
}
