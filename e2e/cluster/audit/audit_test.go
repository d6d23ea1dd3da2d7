package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	watchBegins = `{"auditID":"1","stage":"ResponseStarted","verb":"watch","user":{"username":"alice"}}` + "\n"
	watchEnds   = `{"auditID":"1","stage":"ResponseComplete","verb":"watch","user":{"username":"alice"},"responseStatus":{"code":200}}` + "\n"
	watchDenied = `{"auditID":"5","stage":"ResponseComplete","verb":"watch","user":{"username":"dora"},"responseStatus":{"code":403}}` + "\n"
	aliceGets   = `{"auditID":"2","stage":"ResponseComplete","verb":"get","user":{"username":"alice"}}` + "\n"
	bobGets     = `{"auditID":"3","stage":"ResponseComplete","verb":"get","user":{"username":"bob"}}` + "\n"
	half        = `{"auditID":"4","stage":"Resp`
)

func TestSince(t *testing.T) {
	log := Log{Path: filepath.Join(t.TempDir(), "audit.log")}
	if mark, err := log.Mark(); mark != 0 || err != nil {
		t.Errorf("mark of an absent log: got %d, %v", mark, err)
	}
	all := watchBegins + aliceGets + bobGets + watchDenied + watchEnds + half
	if err := os.WriteFile(log.Path, []byte(all), 0o600); err != nil {
		t.Fatal(err)
	}
	for why, c := range map[string]struct {
		mark Mark
		keep func(Event) bool
		want int
	}{
		"each request counts once, half a line does not": {0, nil, 4},
		"one user": {0, By("alice"), 2},
		"a watch that began before the mark ends behind it": {Mark(len(watchBegins)), By("alice"), 1},
		"a watch is denied": {0, By("dora"), 1},
		"behind the mark":   {Mark(len(watchBegins)), By("bob"), 1},
		"only half a line":  {Mark(len(all) - len(half)), nil, 0},
		"no such user":      {0, By("carol"), 0},
	} {
		events, err := log.Since(c.mark, c.keep)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) != c.want {
			t.Errorf("%s: got %d events %v, want %d", why, len(events), events, c.want)
		}
	}
}

func TestMarkIsLineStart(t *testing.T) {
	whole := strings.Repeat(aliceGets, 3)
	for why, c := range map[string]struct {
		text string
		want int
	}{
		"all lines are whole":          {whole, len(whole)},
		"half a line":                  {whole + half, len(whole)},
		"half a line that is long":     {whole + strings.Repeat("x", 3*chunk), len(whole)},
		"nothing but half a line":      {half, 0},
		"the last line ends a chunk":   {strings.Repeat("x", chunk-1) + "\n", chunk},
		"an empty log":                 {"", 0},
		"half a line of a whole chunk": {whole + strings.Repeat("x", chunk), len(whole)},
	} {
		log := Log{Path: filepath.Join(t.TempDir(), "audit.log")}
		if err := os.WriteFile(log.Path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if mark, err := log.Mark(); err != nil || mark != Mark(c.want) {
			t.Errorf("%s: got %d, %v, want %d", why, mark, err, c.want)
		}
	}
}
