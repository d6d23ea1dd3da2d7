package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	"github.com/templater-dev/templater/internal/operator/serve"
)

const (
	// validFor is the validity of a certificate, without the allowance for clock skew.
	validFor = 2160 * time.Hour // 90 days
	// renewBefore is how long before it expires a certificate is renewed.
	renewBefore = 720 * time.Hour // 30 days
	// overlap is how long a new certificate is published before it is served, so that all API servers trust it by then.
	overlap = 5 * time.Minute
)

// pair is a certificate with its key, as PEM.
type pair struct {
	crt, key []byte
	shown    *tls.Certificate
}

// generate creates a pair for a server with these names.
func generate(names []string, now time.Time) (*pair, error) {
	made, err := serve.SelfSigned(names, now, validFor)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("create a certificate: %w", err)
	}
	crt := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Certificate[0]})
	return &pair{crt: crt, key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), shown: made}, nil
}

// parse parses a pair. The error contains nothing of the key.
func parse(crt, key []byte) (*pair, error) {
	shown, err := tls.X509KeyPair(crt, key)
	if err != nil {
		return nil, err
	}
	return &pair{crt: crt, key: key, shown: &shown}, nil
}

// made returns when the pair was created.
func (p *pair) made() time.Time { return p.shown.Leaf.NotBefore.Add(serve.ClockSkew) }

// valid reports whether the certificate is currently valid.
func (p *pair) valid(now time.Time) bool {
	return !now.Before(p.shown.Leaf.NotBefore) && now.Before(p.shown.Leaf.NotAfter)
}

// due returns when the pair must be renewed.
func (p *pair) due() time.Time { return p.shown.Leaf.NotAfter.Add(-renewBefore) }

// names reports whether the certificate is valid for all these names.
func (p *pair) names(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return p.shown.Leaf.VerifyHostname(name) != nil })
}
