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
	// lookEvery is how long a changed file may stay unseen.
	lookEvery = 10 * time.Second
	// madeFor is how long a self-made certificate is valid. Another one is made after half of that.
	madeFor = 365 * 24 * time.Hour
)

// Certificate is a serving certificate. It is read from the files tls.crt and tls.key of a folder, as a Secret of
// the type kubernetes.io/tls is mounted, and follows their changes. While they do not exist, or were never valid,
// it is self-signed: then clients cannot verify the server, but the connection is encrypted.
// Files are read when a client connects, so nothing runs in between. It is safe for concurrent use.
type Certificate struct {
	folder string // empty = self-made
	logger logr.Logger
	now    func() time.Time

	mu       sync.Mutex
	current  *tls.Certificate
	renew    time.Time // when to make another one; zero = it is from the files
	looked   time.Time // at the files
	text     [2][]byte // of the files
	obstacle string    // what was logged last
}

// NewCertificate returns the certificate in a folder, or a self-made one if that is empty.
func NewCertificate(folder string, logger logr.Logger) *Certificate {
	return &Certificate{folder: folder, logger: logger, now: time.Now}
}

// Config returns how a server speaks TLS with the certificate.
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
	if c.folder != "" && (c.looked.IsZero() || now.Sub(c.looked) >= lookEvery) {
		c.looked = now
		c.look()
	}
	if c.current != nil && (c.renew.IsZero() || now.Before(c.renew)) {
		return c.current, nil
	}
	made, err := SelfSigned([]string{"templater"}, now, madeFor)
	if err != nil {
		return nil, err
	}
	c.current, c.renew = made, now.Add(madeFor/2)
	c.logger.Info("created a self-signed certificate", "until", made.Leaf.NotAfter)
	return made, nil
}

// look takes up the files if they have changed. It logs once what keeps it from that.
func (c *Certificate) look() {
	err := c.load()
	text := ""
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.text[0] == nil:
		text = "waiting for tls.crt and tls.key"
		if text != c.obstacle {
			c.logger.Info(text, "folder", c.folder)
		}
	case err != nil:
		text = err.Error()
		if text != c.obstacle {
			c.logger.Error(err, "cannot use the certificate: tls.crt and tls.key must be valid and match", "folder", c.folder)
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
	// Files that do not fit may be of two versions, one before and one after a change: the next look finds both.
	loaded, err := tls.X509KeyPair(text[0], text[1])
	if err != nil {
		return err
	}
	c.current, c.renew, c.text = &loaded, time.Time{}, text
	c.logger.Info("using the certificate", "folder", c.folder, "until", loaded.Leaf.NotAfter)
	return nil
}
