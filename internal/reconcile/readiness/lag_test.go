package readiness

import "testing"

func TestWhoseStatusMayLag(t *testing.T) {
	for why, row := range map[string]struct {
		text    string
		reports bool
		want    bool
	}{
		"nothing is to be expected":        {`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}`, false, false},
		"a status is yet to come":          {`{"apiVersion": "a/v1", "kind": "A", "metadata": {"generation": 1}}`, true, true},
		"it was never changed":             {`{"apiVersion": "a/v1", "kind": "A", "metadata": {"generation": 1}, "status": {"phase": "Done"}}`, true, false},
		"it was changed":                   {`{"apiVersion": "a/v1", "kind": "A", "metadata": {"generation": 2}, "status": {"phase": "Done"}}`, true, true},
		"its changes are not counted":      {`{"apiVersion": "v1", "kind": "A", "metadata": {}, "status": {"phase": "Done"}}`, false, true},
		"the status says what it is of":    {`{"apiVersion": "a/v1", "kind": "A", "metadata": {"generation": 2}, "status": {"observedGeneration": 2}}`, true, false},
		"its condition says what it is of": {`{"apiVersion": "a/v1", "kind": "A", "metadata": {"generation": 2}, "status": {"conditions": [{"type": "Ready", "observedGeneration": 2}]}}`, true, false},
		"another condition says it":        {`{"apiVersion": "a/v1", "kind": "A", "metadata": {"generation": 2}, "status": {"conditions": [{"type": "Synced", "observedGeneration": 2}]}}`, true, true},
		"a Pod is restarted":               {`{"apiVersion": "v1", "kind": "Pod", "metadata": {"generation": 2}, "status": {"observedGeneration": 2}}`, false, true},
		"a Pod is as it was made":          {`{"apiVersion": "v1", "kind": "Pod", "metadata": {"generation": 1}, "status": {"phase": "Running"}}`, false, false},
		"another kind that is called Pod":  {`{"apiVersion": "a/v1", "kind": "Pod", "metadata": {"generation": 2}, "status": {"observedGeneration": 2}}`, true, false},
	} {
		if got := MayLag(parse(t, row.text), row.reports); got != row.want {
			t.Errorf("%s: got %v, want %v", why, got, row.want)
		}
	}
}
