package e2e

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

var updateBadInput = flag.Bool("update-badinput", false, "write the reported messages to testdata/badinput")

// settled returns the report once it has not changed for some time.
func (r *row) settled() string {
	r.t.Helper()
	var last string
	var since time.Time
	eventually(r.t, slow, func() error {
		if now := r.report(true); now != last || now == "" {
			last, since = now, time.Now()
		}
		if time.Since(since) < 4*time.Second {
			return fmt.Errorf("changes: %s", last)
		}
		return nil
	})
	return last
}

func (r *row) write(want string) {
	r.t.Helper()
	r.files["bad/want"] = want
	r.what.Files = slices.DeleteFunc(r.what.Files, func(f txtar.File) bool { return f.Name == "bad/want" })
	at := slices.IndexFunc(r.what.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "fixed/") })
	if at < 0 {
		at = len(r.what.Files)
	}
	r.what.Files = slices.Insert(r.what.Files, at, txtar.File{Name: "bad/want", Data: []byte(want)})
	if err := os.WriteFile(r.file, txtar.Format(r.what), 0o644); err != nil {
		r.t.Fatal(err)
	}
}
