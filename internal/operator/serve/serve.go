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
	// headerLimit is how long a client may take to send its request. What is allowed to have a body says how long that may take.
	headerLimit = 10 * time.Second
	// idleLimit is longer than the usual time between two probes or scrapes.
	idleLimit = 2 * time.Minute
	// stopLimit is how long requests may take that are under way when the operator stops.
	stopLimit = 2 * time.Second
	// headerBytes is room for any token, and no invitation to fill the memory.
	headerBytes = 64 << 10
)

// Options are what a server serves.
type Options struct {
	Name    string // what errors and logs call it
	Address string // such as ":8080" or "127.0.0.1:0"
	Handler http.Handler
	TLS     *tls.Config // nil = plain HTTP
}

// Server answers requests from the moment that Listen has returned it.
type Server struct {
	name     string
	server   *http.Server
	listener net.Listener
	ended    chan struct{}
}

// Listen starts a server. The error says that the address cannot be had. Close must be called.
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
			ConnState: newConnections(mostConnections).changed, MaxHeaderBytes: headerBytes, ErrorLog: log.New(complaints{logger.WithValues("what", o.Name)}, "", 0),
			BaseContext: func(net.Listener) context.Context { return klog.NewContext(context.Background(), logger) },
		},
	}
	if o.TLS != nil {
		listener = tls.NewListener(listener, o.TLS)
	}
	logger.Info("serving", "what", o.Name, "address", s.Address(), "tls", o.TLS != nil)
	go func() {
		defer close(s.ended)
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error(err, "the server has stopped", "what", o.Name)
		}
	}()
	return s, nil
}

// complaints logs what net/http complains about. That a client does not like a certificate, or speaks no TLS, is
// the client's matter, and anybody could fill the log with it.
type complaints struct{ logger logr.Logger }

// Write logs a line.
func (c complaints) Write(line []byte) (int, error) {
	text := string(bytes.TrimSpace(line))
	if bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
		c.logger.V(4).Info("no handshake", "because", text)
	} else {
		c.logger.Error(nil, "a request failed", "because", text)
	}
	return len(line), nil
}

// Address is where the server listens.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close ends the server. Requests that are under way have a moment to end.
func (s *Server) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close() // they had their time
	}
	<-s.ended
}
