package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"time"
)

const (
	// validFor is how long a certificate is valid, but for what clocks may differ.
	validFor = 2160 * time.Hour // 90 days
	// renewBefore is how long before its end another one is made.
	renewBefore = 720 * time.Hour // 30 days
	// clockSkew is how far the clock of an API server may be behind.
	clockSkew = time.Hour
	// overlap is how long a new certificate is published before it is shown, so that all API servers know it by then.
	overlap = 5 * time.Minute
)

// pair is a certificate with its key, as PEM. It is signed by itself, and by no authority whose key could sign another one: who trusts
// it trusts nothing else.
type pair struct {
	crt, key []byte
	shown    *tls.Certificate
}

// generate makes a pair for a server of these names.
func generate(names []string, now time.Time) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	leaf := &x509.Certificate{
		Subject: pkix.Name{CommonName: "templater-webhook"}, NotBefore: now.Add(-clockSkew), NotAfter: now.Add(validFor),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return parse(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
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
func (p *pair) made() time.Time { return p.shown.Leaf.NotBefore.Add(clockSkew) }

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
