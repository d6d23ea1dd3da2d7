package pki

import (
	"crypto/x509"
	"encoding/pem"
	"slices"
	"testing"
)

func TestIssue(t *testing.T) {
	dir := t.TempDir()
	if _, err := NewAuthority(dir); err != nil {
		t.Fatal(err)
	}
	authority, err := LoadAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Issue(Subject{CommonName: "alice", Organizations: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(pair.Cert)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if cert.Subject.CommonName != "alice" || !slices.Equal(cert.Subject.Organization, []string{"a", "b"}) {
		t.Errorf("subject: got %v", cert.Subject)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Certificate())
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
}
