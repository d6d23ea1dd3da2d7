package serve

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"
)

// logged returns a logger and its output.
func logged() (logr.Logger, *strings.Builder) {
	var log strings.Builder
	return funcr.New(func(_, args string) { fmt.Fprintln(&log, args) }, funcr.Options{}), &log
}

// pair returns a certificate and its key as in the files of a mounted Secret.
func pair(t *testing.T) (crt, key []byte) {
	t.Helper()
	made, err := SelfSigned([]string{"templater"}, time.Now(), selfSignedValidity)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(made.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Certificate[0]}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

func write(t *testing.T, dir, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// shows reports whether the certificate in use is crt.
func shows(t *testing.T, c *Certificate, crt []byte) bool {
	t.Helper()
	got, err := c.get()
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(crt)
	return slices.Equal(got.Certificate[0], block.Bytes)
}

func TestCertificateIsReloadedFromFiles(t *testing.T) {
	dir := t.TempDir()
	logger, log := logged()
	c := NewCertificate(dir, logger)
	now := time.Now()
	c.now = func() time.Time { return now }
	later := func() { now = now.Add(reloadInterval) }

	first, firstKey := pair(t)
	second, secondKey := pair(t)
	if shows(t, c, first) {
		t.Error("there are no files yet")
	}
	write(t, dir, "tls.crt", first)
	write(t, dir, "tls.key", firstKey)
	if shows(t, c, first) {
		t.Error("the files were read for a second client in the same moment")
	}
	later()
	if !shows(t, c, first) {
		t.Errorf("the files are there: %s", log)
	}
	write(t, dir, "tls.crt", second)
	for range 3 {
		later()
		if !shows(t, c, first) {
			t.Error("half a change was taken")
		}
	}
	write(t, dir, "tls.key", secondKey)
	later()
	if !shows(t, c, second) {
		t.Errorf("both files have changed: %s", log)
	}
	if err := os.Remove(filepath.Join(dir, "tls.key")); err != nil {
		t.Fatal(err)
	}
	later()
	if !shows(t, c, second) {
		t.Error("what was in use is no longer, because a file is gone")
	}
	for text, want := range map[string]int{
		"waiting for tls.crt and tls.key": 1, "using the certificate": 2, "cannot use the certificate: tls.crt and tls.key must be valid": 2, "created a self-signed certificate": 1,
	} {
		if got := strings.Count(log.String(), text); got != want {
			t.Errorf("%q was logged %d times, want %d, in\n%s", text, got, want, log)
		}
	}
}

func TestInvalidCertificateFilesFallBackToSelfSigned(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "tls.crt", []byte("secret"))
	write(t, dir, "tls.key", []byte("secret"))
	logger, log := logged()
	c := NewCertificate(dir, logger)
	if _, err := c.get(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "cannot use the certificate") || !strings.Contains(log.String(), "created a self-signed certificate") || strings.Contains(log.String(), "secret") {
		t.Errorf("the log is %s", log)
	}
}

func TestSelfSignedCertificateIsRenewed(t *testing.T) {
	c := NewCertificate("", logr.Discard())
	now := time.Now()
	c.now = func() time.Time { return now }
	first, err := c.get()
	if err != nil {
		t.Fatal(err)
	}
	if leaf := first.Leaf; leaf.NotBefore.After(now) || leaf.NotAfter.Before(now.Add(selfSignedValidity-time.Second)) {
		t.Errorf("valid from %s to %s", leaf.NotBefore, leaf.NotAfter)
	}
	now = now.Add(selfSignedValidity/2 - time.Second)
	if same, _ := c.get(); same != first {
		t.Error("it was renewed too early")
	}
	now = now.Add(time.Second)
	if next, _ := c.get(); next == first || !next.Leaf.NotAfter.After(now.Add(selfSignedValidity/2)) {
		t.Error("it was not renewed")
	}
}

func TestServeTLS(t *testing.T) {
	defer goleak.VerifyNone(t)
	logger, log := logged()
	ctx := klog.NewContext(t.Context(), logger)
	s, err := Listen(ctx, Options{Name: "greetings", Address: "127.0.0.1:0", Handler: http.HandlerFunc(hello), TLS: NewCertificate("", logger).Config()})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	fetch := func(url string, client *http.Client) (*http.Response, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		return client.Do(request)
	}
	answer, err := fetch("https://"+s.Address(), client)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil || string(body) != "hello" || answer.ProtoMajor != 1 {
		t.Errorf("got %q by %s, error %v", body, answer.Proto, err)
	}
	if answer, err := fetch("https://"+s.Address(), &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}); err == nil {
		_ = answer.Body.Close()
		t.Error("a client believes in a self-made certificate")
	}
	if answer, err := fetch("http://"+s.Address(), &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}); err == nil {
		if answer.StatusCode != http.StatusBadRequest {
			t.Errorf("plain HTTP is answered %d", answer.StatusCode)
		}
		_ = answer.Body.Close()
	}
	s.Close(t.Context())
	if strings.Contains(log.String(), "handshake") {
		t.Errorf("clients can fill the log: %s", log)
	}
}

func TestHTTPErrorLogOmitsTLSHandshakeErrors(t *testing.T) {
	logger, log := logged()
	c := errorLog{logger}
	for _, line := range []string{"http: TLS handshake error from 10.0.0.1:1: EOF\n", "http: panic serving 10.0.0.1:1: a defect\n"} {
		if n, err := c.Write([]byte(line)); n != len(line) || err != nil {
			t.Errorf("wrote %d, error %v", n, err)
		}
	}
	if strings.Contains(log.String(), "handshake") || !strings.Contains(log.String(), "panic serving") {
		t.Errorf("the log is %s", log)
	}
}
