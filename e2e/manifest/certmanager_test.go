package manifest

import (
	"slices"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmetav1 "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestCertManagerIssuesWebhookCertificate decodes the cert-manager objects of the component strictly with
// cert-manager's types, and follows the certificate from the Issuer to the API server.
func TestCertManagerIssuesWebhookCertificate(t *testing.T) {
	const name, namespace = "templater-webhook", "templater-system"
	b := build(t, "", "cert-manager")
	webhook := read[admissionregistrationv1.ValidatingWebhookConfiguration](t, b, "ValidatingWebhookConfiguration templater")
	service := webhook.Webhooks[0].ClientConfig.Service
	issuer := read[certmanagerv1.Issuer](t, b, "Issuer "+name)
	if diff := cmp.Diff(certmanagerv1.IssuerSpec{IssuerConfig: certmanagerv1.IssuerConfig{SelfSigned: &certmanagerv1.SelfSignedIssuer{}}}, issuer.Spec); diff != "" {
		t.Errorf("the Issuer (-want +got):\n%s", diff)
	}
	certificate := read[certmanagerv1.Certificate](t, b, "Certificate "+name)
	if diff := cmp.Diff(certmanagerv1.CertificateSpec{
		SecretName: "templater-webhook-tls",
		DNSNames:   []string{service.Name + "." + service.Namespace + ".svc"},
		IssuerRef:  cmmetav1.IssuerReference{Kind: certmanagerv1.IssuerKind, Name: issuer.Name},
		PrivateKey: &certmanagerv1.CertificatePrivateKey{Algorithm: certmanagerv1.ECDSAKeyAlgorithm, Size: 256, RotationPolicy: certmanagerv1.RotationPolicyAlways},
	}, certificate.Spec); diff != "" {
		t.Errorf("the Certificate (-want +got):\n%s", diff)
	}
	if issuer.Namespace != namespace || certificate.Namespace != namespace || issuer.APIVersion != certificate.APIVersion || issuer.GroupVersionKind() != certmanagerv1.SchemeGroupVersion.WithKind("Issuer") {
		t.Errorf("the Issuer is %s in %s, the Certificate %s in %s", issuer.GroupVersionKind(), issuer.Namespace, certificate.GroupVersionKind(), certificate.Namespace)
	}
	if got := webhook.Annotations[certmanagerv1.WantInjectAnnotation]; got != namespace+"/"+name {
		t.Errorf("the API server is to trust %q", got)
	}

	// The Pods mount that Secret.
	pod := read[appsv1.Deployment](t, b, "Deployment templater").Spec.Template.Spec
	volume := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool {
		return v.Secret != nil && v.Secret.SecretName == certificate.Spec.SecretName
	})
	if volume < 0 {
		t.Fatalf("no volume has the Secret: %+v", pod.Volumes)
	}
	container := pod.Containers[0]
	mount := slices.IndexFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == pod.Volumes[volume].Name })
	if mount < 0 || !slices.Contains(container.Args, "--webhook-cert-dir="+container.VolumeMounts[mount].MountPath) {
		t.Errorf("the operator does not read the Secret: %q", container.Args)
	}
	for _, item := range pod.Volumes[volume].Secret.Items {
		if item.Key != corev1.TLSCertKey && item.Key != corev1.TLSPrivateKeyKey || item.Key != item.Path {
			t.Errorf("the operator gets %s as %s", item.Key, item.Path)
		}
	}
}
