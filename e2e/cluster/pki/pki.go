// Package pki creates the keys, certificates and kubeconfigs of a test cluster.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const lifetime = 10 * 365 * 24 * time.Hour

// Authority signs certificates. It is safe for concurrent use.
type Authority struct {
	cert    *x509.Certificate
	key     *ecdsa.PrivateKey
	certPEM []byte
}

// Subject is the subject of a certificate. Kubernetes reads the CommonName of a client certificate as the user and its
// Organizations as the groups.
type Subject struct {
	CommonName    string
	Organizations []string
	DNSNames      []string
	IPs           []net.IP
}

// Pair is a certificate and its key, both PEM.
type Pair struct{ Cert, Key []byte }

// NewAuthority creates a self-signed authority and writes it to dir as ca.crt and ca.key.
func NewAuthority(dir string) (*Authority, error) {
	key, keyPEM, err := NewKey()
	if err != nil {
		return nil, err
	}
	template, err := newTemplate(Subject{CommonName: "kubernetes"})
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign the authority: %w", err)
	}
	pair := Pair{Cert: encode("CERTIFICATE", der), Key: keyPEM}
	if err := pair.Write(dir, "ca"); err != nil {
		return nil, err
	}
	return parse(pair)
}

// LoadAuthority reads the files that NewAuthority wrote to dir.
func LoadAuthority(dir string) (*Authority, error) {
	pair, err := ReadPair(dir, "ca")
	if err != nil {
		return nil, err
	}
	return parse(pair)
}

func parse(pair Pair) (*Authority, error) {
	certBlock, _ := pem.Decode(pair.Cert)
	keyBlock, _ := pem.Decode(pair.Key)
	if certBlock == nil || keyBlock == nil {
		return nil, fmt.Errorf("read the authority: not PEM")
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the authority: %w", err)
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the authority's key: %w", err)
	}
	return &Authority{cert: cert, key: key, certPEM: pair.Cert}, nil
}

// Certificate returns the authority's own certificate, PEM.
func (a *Authority) Certificate() []byte { return a.certPEM }

// Issue creates a key and a certificate, valid for clients and servers.
func (a *Authority) Issue(subject Subject) (Pair, error) {
	key, keyPEM, err := NewKey()
	if err != nil {
		return Pair{}, err
	}
	template, err := newTemplate(subject)
	if err != nil {
		return Pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign the certificate of %s: %w", subject.CommonName, err)
	}
	return Pair{Cert: encode("CERTIFICATE", der), Key: keyPEM}, nil
}

func newTemplate(subject Subject) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: subject.CommonName, Organization: subject.Organizations},
		DNSNames:     subject.DNSNames,
		IPAddresses:  subject.IPs,
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(lifetime),
	}, nil
}

// NewKey creates a P-256 key, also returned as PEM.
func NewKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return key, encode("EC PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Write saves the pair in dir as name.crt and name.key.
func (p Pair) Write(dir, name string) error {
	if err := os.WriteFile(filepath.Join(dir, name+".crt"), p.Cert, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".key"), p.Key, 0o600)
}

// ReadPair reads the files that Write saved.
func ReadPair(dir, name string) (Pair, error) {
	cert, err := os.ReadFile(filepath.Join(dir, name+".crt"))
	if err != nil {
		return Pair{}, err
	}
	key, err := os.ReadFile(filepath.Join(dir, name+".key"))
	if err != nil {
		return Pair{}, err
	}
	return Pair{Cert: cert, Key: key}, nil
}
