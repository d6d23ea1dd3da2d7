package kube

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func TestGetDatedReturnsDateHeader(t *testing.T) {
	day := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC) // differs from local time
	for why, row := range map[string]struct {
		dates  []string // Date headers of the responses; all but the last response are 429
		status int
		want   time.Time
	}{
		"the answer has a Date":                 {[]string{day.Format(http.TimeFormat)}, http.StatusOK, day},
		"the answer has none":                   {[]string{""}, http.StatusOK, time.Time{}},
		"it is none":                            {[]string{"yesterday"}, http.StatusOK, time.Time{}},
		"that of the last answer counts":        {[]string{day.Add(-time.Hour).Format(http.TimeFormat), day.Format(http.TimeFormat)}, http.StatusOK, day},
		"a refusal has a Date, and is an error": {[]string{day.Format(http.TimeFormat)}, http.StatusForbidden, day},
	} {
		t.Run(why, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.Header().Set("Content-Type", "application/json")
				w.Header()["Date"] = []string{row.dates[asked-1]}
				if asked < len(row.dates) {
					w.Header().Set("Retry-After", "0")
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				w.WriteHeader(row.status)
				_, _ = io.WriteString(w, answered)
			}))
			t.Cleanup(server.Close)
			client, err := NewClient(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			o, got, err := client.GetDated(t.Context(), a)
			if !got.Equal(row.want) || (err == nil) != (row.status == http.StatusOK) || err == nil && o.Name() != "a" {
				t.Errorf("%v at %v, error %v; want %v", o, got, err, row.want)
			}
		})
	}
}
