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

// The files that the forwarder is started with.
const (
	ListenerFD = 3 // listening socket on the host
	NetworkFD  = 4 // network namespace of the node
)

// Forward accepts connections on the host and continues them to the API
// server inside the node's network namespace, until it is killed.
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
		_, _ = io.Copy(server, client) // a broken connection shows on both sides
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(client, server)
}

type dialed struct {
	conn net.Conn
	err  error
}

// dialInside connects from within the namespace. Its thread stays there: it
// is never unlocked and so ends with its goroutine.
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
