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
	// validFor is how long a certificate is valid, but for what clocks may differ.
	validFor = 2160 * time.Hour // 90 days
	// renewBefore is how long before its end another one is made.
	renewBefore = 720 * time.Hour // 30 days
	// overlap is how long a new certificate is published before it is shown, so that all API servers know it by then.
	overlap = 5 * time.Minute
)

// pair is a certificate with its key, as PEM.
type pair struct {
	crt, key []byte
	shown    *tls.Certificate
}

// generate makes a pair for a server of these names.
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

// parse reads a pair. The error holds nothing of the key.
func parse(crt, key []byte) (*pair, error) {
	shown, err := tls.X509KeyPair(crt, key)
	if err != nil {
		return nil, err
	}
	return &pair{crt: crt, key: key, shown: &shown}, nil
}

// made is when the pair was made.
func (p *pair) made() time.Time { return p.shown.Leaf.NotBefore.Add(serve.ClockSkew) }

// valid reports whether clients accept it.
func (p *pair) valid(now time.Time) bool {
	return !now.Before(p.shown.Leaf.NotBefore) && now.Before(p.shown.Leaf.NotAfter)
}

// due is when another one is to be made.
func (p *pair) due() time.Time { return p.shown.Leaf.NotAfter.Add(-renewBefore) }

// names reports whether it is for a server of all these names.
func (p *pair) names(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return p.shown.Leaf.VerifyHostname(name) != nil })
}
