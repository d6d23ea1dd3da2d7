package serve

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

const (
	// reloadInterval is how often the files are checked for changes.
	reloadInterval = 10 * time.Second
	// selfSignedValidity is the validity of a self-signed certificate. It is renewed after half of that.
	selfSignedValidity = 365 * 24 * time.Hour
)

// Certificate is a serving certificate. It is read from the files tls.crt and tls.key of a directory, such as a mounted
// Secret of type kubernetes.io/tls, and reloaded when they change. Until they exist and are valid, it is self-signed:
// clients then cannot verify the server, but the connection is encrypted. Files are read when a client connects, so no
// goroutine is needed. It is safe for concurrent use.
type Certificate struct {
	folder string // directory; empty = self-signed
	logger logr.Logger
	now    func() time.Time

	mu       sync.Mutex
	current  *tls.Certificate
	renew    time.Time // when to renew it; zero = it is from the files
	looked   time.Time // when the files were last checked
	text     [2][]byte // contents of the files
	obstacle string    // last logged error
}

// NewCertificate returns the certificate in a directory, or a self-signed one if folder is empty.
func NewCertificate(folder string, logger logr.Logger) *Certificate {
	return &Certificate{folder: folder, logger: logger, now: time.Now}
}

// Config returns the TLS config of a server with the certificate.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.get() },
	}
}

func (c *Certificate) get() (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if c.folder != "" && (c.looked.IsZero() || now.Sub(c.looked) >= reloadInterval) {
		c.looked = now
		c.look()
	}
	if c.current != nil && (c.renew.IsZero() || now.Before(c.renew)) {
		return c.current, nil
	}
	made, err := SelfSigned([]string{"templater"}, now, selfSignedValidity)
	if err != nil {
		return nil, err
	}
	c.current, c.renew = made, now.Add(selfSignedValidity/2)
	c.logger.Info("created a self-signed certificate", "notAfter", made.Leaf.NotAfter)
	return made, nil
}

// look reloads the files if they have changed. It logs each error once.
func (c *Certificate) look() {
	err := c.load()
	text := ""
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.text[0] == nil:
		text = "waiting for tls.crt and tls.key"
		if text != c.obstacle {
			c.logger.Info(text, "directory", c.folder)
		}
	case err != nil:
		text = err.Error()
		if text != c.obstacle {
			c.logger.Error(err, "cannot use the certificate: tls.crt and tls.key must be valid and match", "directory", c.folder)
		}
	}
	c.obstacle = text
}

func (c *Certificate) load() error {
	var text [2][]byte
	for i, name := range []string{"tls.crt", "tls.key"} {
		read, err := os.ReadFile(filepath.Join(c.folder, name))
		if err != nil {
			return err
		}
		text[i] = read
	}
	if c.text[0] != nil && bytes.Equal(text[0], c.text[0]) && bytes.Equal(text[1], c.text[1]) {
		return nil
	}
	// Files that do not match may belong to different versions of the Secret. The next attempt will read a matching
	// pair.
	loaded, err := tls.X509KeyPair(text[0], text[1])
	if err != nil {
		return err
	}
	c.current, c.renew, c.text = &loaded, time.Time{}, text
	c.logger.Info("using the certificate", "directory", c.folder, "notAfter", loaded.Leaf.NotAfter)
	return nil
}
