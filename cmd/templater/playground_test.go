package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

func TestPlaygroundIsServedUntilCanceled(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	in, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- servePlayground(ctx, out, fstest.MapFS{"index.html": {Data: []byte("the page")}}, 0)
	}()
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`^Serving the playground at (http://127\.0\.0\.1:(\d+)/) \(press Ctrl-C to stop\)\n$`).FindStringSubmatch(line)
	if found == nil {
		t.Fatal(line)
	}
	answer, err := http.Get(found[1])
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "the page" {
		t.Errorf("%q, %v", text, err)
	}
	port, err := strconv.ParseUint(found[2], 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	err = servePlayground(ctx, io.Discard, fstest.MapFS{}, int(port))
	if err == nil || !strings.Contains(err.Error(), "in use") || !strings.HasSuffix(err.Error(), ": choose another port with --port") {
		t.Errorf("a port that is in use: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", "127.0.0.1:"+found[2]); err == nil {
		c.Close()
		t.Error("the port is still in use")
	}
}

func TestMissingPlaygroundIsReported(t *testing.T) {
	const want = `this binary was built without the playground: build it with "make build", or use a release`
	if err := servePlayground(t.Context(), io.Discard, nil, 0); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
