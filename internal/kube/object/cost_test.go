package object

import (
	"runtime"
	"strings"
	"testing"
)

const pod = `{"volumes":[{"name":"kube-api-access-x","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],"containers":[{"name":"simple","image":"busybox","command":["sh","-x","-c"],"args":["echo 1"],"resources":{},"volumeMounts":[{"name":"kube-api-access-x","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Never","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default","nodeName":"node","securityContext":{},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}`

// TestContentMemoryIsWithinEstimate reads the inputs that need the most memory for their length.
func TestContentMemoryIsWithinEstimate(t *testing.T) {
	for why, inner := range map[string]string{
		"maps":               "[" + strings.Repeat(`{},`, 5000) + "{}]",
		"maps of one":        "[" + strings.Repeat(`{"":1},`, 5000) + "{}]",
		"maps of two":        "[" + strings.Repeat(`{"":1,"a":2},`, 5000) + "{}]",
		"maps of nine":       "[" + strings.Repeat(`{"":1,"a":2,"b":3,"c":4,"d":5,"e":6,"f":7,"g":8,"h":9},`, 1000) + "{}]",
		"maps of many":       "[" + strings.Repeat(`{"":1,"a":2,"b":3,"c":4,"d":5,"e":6,"f":7,"g":8,"h":9,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1},`, 1000) + "{}]",
		"lists":              "[" + strings.Repeat(`[],`, 5000) + "[]]",
		"lists of one":       "[" + strings.Repeat(`[1],`, 5000) + "[]]",
		"lists of five":      "[" + strings.Repeat(`["","","","",""],`, 5000) + "[]]",
		"numbers":            "[" + strings.Repeat(`1000,`, 5000) + "1]",
		"fractions":          "[" + strings.Repeat(`1.5,`, 5000) + "1]",
		"texts":              "[" + strings.Repeat(`"",`, 5000) + "1]",
		"escaped texts":      "[" + strings.Repeat(`"\u0000\u0000",`, 5000) + "1]",
		"escaped characters": `"` + strings.Repeat(`\n`, 5000) + `"`,
		"maps in maps":       strings.Repeat(`{"a":`, 90) + "1" + strings.Repeat("}", 90),
		"lists in lists":     strings.Repeat(`[`, 90) + strings.Repeat("]", 90),
		"exponents":          "[" + strings.Repeat(`1e5,`, 5000) + "1]",
		"large numbers":      "[" + strings.Repeat(`12345678901234567890123,`, 5000) + "1]",
		"a Pod":              pod,
		"nothing":            `""`,
	} {
		o, err := Decode([]byte(`{"metadata":{"name":"a","resourceVersion":"1"},"spec":` + inner + `}`))
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		o.Content()
		runtime.ReadMemStats(&after)
		if bytes, most := after.TotalAlloc-before.TotalAlloc, uint64(o.ContentBytes()); bytes > most { //nolint:gosec // not negative
			t.Errorf("%s: %d bytes, more than %d", why, bytes, most)
		} else {
			t.Logf("%s: %d of %d bytes", why, bytes, most)
		}
		runtime.ReadMemStats(&before)
		o.At("spec")
		runtime.ReadMemStats(&after)
		if bytes, most := after.TotalAlloc-before.TotalAlloc, uint64(o.BytesAt("spec")); bytes > most { //nolint:gosec // not negative
			t.Errorf("%s: %d bytes of a part, more than %d", why, bytes, most)
		}
	}
}
