package pki

import (
	"encoding/base64"
	"fmt"
)

// Kubeconfig returns a self-contained kubeconfig for server: the authority's certificate and the client's pair are
// embedded.
func (a *Authority) Kubeconfig(server, user string, client Pair) []byte {
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: templater
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %q
  user:
    client-certificate-data: %s
    client-key-data: %s
contexts:
- name: templater
  context:
    cluster: templater
    user: %q
current-context: templater
`, server, b64(a.certPEM), user, b64(client.Cert), b64(client.Key), user)
}
