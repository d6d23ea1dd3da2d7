package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLogWatcherDetectsLeaksAndDataRaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write := func(text string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	l := newLog(path, "hush1234")
	if l.check() == nil {
		t.Error("no error for a missing log")
	}
	write("all is well, hush1")
	if err := l.check(); err != nil {
		t.Error(err)
	}
	write("234, and so on")
	want := "it contains data of parents or children, see the operator's log before byte 21"
	for range 2 {
		if err := l.check(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	race := newLog(path, "another")
	write(strings.Repeat("x", 1000) + "WARNING: DATA RACE")
	if err := race.check(); err == nil || !strings.Contains(err.Error(), "race detector") {
		t.Errorf("got %v, want a data race", err)
	}
}
