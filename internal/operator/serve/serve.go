// Package serve runs the small HTTP servers of the operator.
package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

const (
	// headerLimit is the timeout for reading a request. Handlers that accept a body set their own timeout for it.
	headerLimit = 10 * time.Second
	// idleLimit is longer than the usual interval of probes or scrapes.
	idleLimit = 2 * time.Minute
	// stopLimit is how long running requests may take when the operator stops.
	stopLimit = 2 * time.Second
	// headerBytes is enough for any token, but limits the memory.
	headerBytes = 64 << 10
)

// Options configure a server.
type Options struct {
	Name    string // for errors and logs
	Address string // such as ":8080" or "127.0.0.1:0"
	Handler http.Handler
	TLS     *tls.Config // nil = plain HTTP
}

// Server serves requests from the moment that Listen returns it.
type Server struct {
	name     string
	server   *http.Server
	listener net.Listener
	ended    chan struct{}
}

// Listen starts a server. It returns an error if it cannot listen on the address. The caller must call Close.
func Listen(ctx context.Context, o Options) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("cannot serve %s: %w", o.Name, err)
	}
	logger := klog.FromContext(ctx)
	s := &Server{
		name: o.Name, listener: listener, ended: make(chan struct{}),
		server: &http.Server{
			Handler: o.Handler, ReadHeaderTimeout: headerLimit, ReadTimeout: headerLimit, IdleTimeout: idleLimit,
			ConnState: newConnections(maxConnections).changed, MaxHeaderBytes: headerBytes, ErrorLog: log.New(errorLog{logger.WithValues("what", o.Name)}, "", 0),
			BaseContext: func(net.Listener) context.Context { return klog.NewContext(context.Background(), logger) },
		},
	}
	if o.TLS != nil {
		listener = tls.NewListener(listener, o.TLS)
	}
	logger.Info("serving", "server", o.Name, "address", s.Address(), "tls", o.TLS != nil)
	go func() {
		defer close(s.ended)
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error(err, "server stopped", "server", o.Name)
		}
	}()
	return s, nil
}

// errorLog logs the errors of net/http. TLS handshake errors are only logged at V(4): they are the client's problem,
// and any client could otherwise flood the log.
type errorLog struct{ logger logr.Logger }

// Write logs a line.
func (c errorLog) Write(line []byte) (int, error) {
	text := string(bytes.TrimSpace(line))
	if bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
		c.logger.V(4).Info("TLS handshake failed", "reason", text)
	} else {
		c.logger.Error(nil, "HTTP server error", "reason", text)
	}
	return len(line), nil
}

// Address returns the listen address.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close stops the server. Running requests have stopLimit to finish.
func (s *Server) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close() // their time is up
	}
	<-s.ended
}
