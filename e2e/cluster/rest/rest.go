// Package rest is a minimal Kubernetes client for bringing up a cluster: it avoids a dependency on client-go in the
// program that builds the cluster.
package rest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/pki"
)

// Client sends requests to one API server as one user. It is safe for concurrent use.
type Client struct {
	server string
	http   *http.Client
}

// New returns a client for server that trusts ca and authenticates with pair.
func New(server string, ca []byte, pair pki.Pair) (*Client, error) {
	cert, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		return nil, fmt.Errorf("read client certificate: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
	}
	return &Client{server: server, http: &http.Client{Transport: transport, Timeout: 10 * time.Second}}, nil
}

// Admin returns a client for server as the administrator. The folder dir holds the certificates of the administrator
// and the authority.
func Admin(server, dir string) (*Client, error) {
	pair, err := pki.ReadPair(dir, "admin")
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, err
	}
	return New(server, ca, pair)
}

// StatusError is a response other than 2xx.
type StatusError struct {
	Code int
	Body string
}

func (e *StatusError) Error() string { return fmt.Sprintf("HTTP %d: %.300s", e.Code, e.Body) }

// Get fetches path and decodes the JSON response into out, unless out is nil.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	return c.do(ctx, http.MethodGet, path, nil, out)
}

// Create posts object, as JSON, to path.
func (c *Client) Create(ctx context.Context, path string, object any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodPost, path, body, nil)
}

func (c *Client) do(ctx context.Context, method, path string, body []byte, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.server+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode/100 != 2:
		return &StatusError{Code: response.StatusCode, Body: string(answer)}
	case out == nil:
		return nil
	}
	return json.Unmarshal(answer, out)
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }
