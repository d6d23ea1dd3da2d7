// Package serve runs the small HTTP servers of the operator.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/klog/v2"
)

const (
	// headerLimit is how long a client may take to send its request, which has no body.
	headerLimit = 10 * time.Second
	// idleLimit is longer than the usual time between two probes or scrapes.
	idleLimit = 2 * time.Minute
	// stopLimit is how long requests may take that are under way when the operator stops.
	stopLimit = 2 * time.Second
)

// Server answers requests from the moment that Listen has returned it.
type Server struct {
	name     string
	server   *http.Server
	listener net.Listener
	ended    chan struct{}
}

// Listen starts a server on an address such as ":8080" or "127.0.0.1:0"; name is what errors
// and logs call it. The error says that the address cannot be had. Close must be called.
func Listen(ctx context.Context, name, address string, handler http.Handler) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot serve %s: %w", name, err)
	}
	s := &Server{
		name: name, listener: listener, ended: make(chan struct{}),
		server: &http.Server{Handler: handler, ReadHeaderTimeout: headerLimit, ReadTimeout: headerLimit, IdleTimeout: idleLimit},
	}
	logger := klog.FromContext(ctx)
	logger.Info("serving", "what", name, "address", s.Address())
	go func() {
		defer close(s.ended)
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error(err, "cannot serve any more", "what", name)
		}
	}()
	return s, nil
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
