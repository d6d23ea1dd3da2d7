package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// signatures is the MAC domain of Sign.
const signatures = "templater.dev/signature/1"

// Sign returns a signature of an object that templater alone writes, such as a TemplateRevision: KEY:MAC.
func (r *Ring) Sign(text []byte) string {
	k := r.keys.Load().newest()
	return k.id + string(separator) + k.sign(text)
}

// Signed reports whether Sign returned the signature for this text, with any of the keys.
func (r *Ring) Signed(text []byte, signature string) bool {
	id, mac, _ := strings.Cut(signature, string(separator))
	k := r.keys.Load().find(id)
	return k != nil && hmac.Equal([]byte(mac), []byte(k.sign(text)))
}

func (k *key) sign(text []byte) string {
	h := hmac.New(sha256.New, k.secret)
	_, _ = h.Write([]byte(signatures)) // never fails
	_, _ = h.Write(text)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
