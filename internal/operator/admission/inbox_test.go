package admission

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// sent is a request whose bytes arrive under control of the test.
type sent struct {
	*arrival
	write *io.PipeWriter
	body  chan string
	err   chan error
}

func (in *inbox) send(t *testing.T) *sent {
	t.Helper()
	read, write := io.Pipe()
	s := &sent{write: write, body: make(chan string, 1), err: make(chan error, 1)}
	s.arrival = in.begin(func() { read.CloseWithError(errors.New("cut")) })
	go func() {
		body, err := s.read(read)
		read.Close()
		s.body <- string(body)
		s.err <- err
	}()
	t.Cleanup(func() { write.Close() })
	return s
}

// bytes sends n bytes of the request.
func (s *sent) bytes(t *testing.T, n int) {
	t.Helper()
	if _, err := io.WriteString(s.write, strings.Repeat("x", n)); err != nil {
		t.Fatal(err)
	}
}

func (in *inbox) holds() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.held
}

func TestInboxAccountsReceivedBytes(t *testing.T) {
	in := &inbox{most: inboxLimit}
	for _, size := range []int{0, 1, firstBytes - 1, firstBytes, firstBytes + 1, bodyLimit - 1, bodyLimit} {
		s := in.send(t)
		s.bytes(t, size)
		s.write.Close()
		if body, err := <-s.body, <-s.err; len(body) != size || err != nil {
			t.Errorf("%d of %d bytes arrived, error %v", len(body), size, err)
		}
		if held := in.holds(); held < size || held > max(firstBytes, 2*size) || held > bodyLimit+1 {
			t.Errorf("%d bytes take %d", size, held)
		}
		s.end()
		if held := in.holds(); held != 0 {
			t.Errorf("%d bytes are held at the end", held)
		}
	}
}

// Three requests fit. The oldest one is dropped for the fourth, and the next oldest when it needs more memory itself.
func TestInboxDropsOldestIncompleteRequest(t *testing.T) {
	in := &inbox{most: 3 * firstBytes}
	var all []*sent
	for range 4 {
		s := in.send(t)
		s.bytes(t, 1)
		all = append(all, s)
	}
	if err := <-all[0].err; !errors.Is(err, errGivenUp) {
		t.Errorf("the first one: %v", err)
	}
	all[1].bytes(t, firstBytes-1) // fits into its buffer
	if _, err := io.WriteString(all[1].write, "x"); err == nil {
		t.Error("the second one is not given up when it asks for more")
	}
	if err := <-all[1].err; !errors.Is(err, errGivenUp) {
		t.Errorf("the second one: %v", err)
	}
	for _, s := range all[2:] {
		s.write.Close()
		if err := <-s.err; err != nil {
			t.Errorf("one of the others: %v", err)
		}
	}
	for _, s := range all {
		s.end()
	}
	if held := in.holds(); held != 0 {
		t.Errorf("%d bytes are held at the end", held)
	}
}

// A request that is the oldest when it first needs memory is the only one that is dropped.
func TestDroppedRequestDoesNotAffectOthers(t *testing.T) {
	in := &inbox{most: 2 * firstBytes}
	first := in.begin(func() { t.Error("it is cut off by itself") })
	others := []*sent{in.send(t), in.send(t)}
	for _, s := range others {
		s.bytes(t, 1)
	}
	if _, err := first.read(strings.NewReader("x")); !errors.Is(err, errGivenUp) {
		t.Errorf("the first one: %v", err)
	}
	first.end()
	for _, s := range others {
		s.write.Close()
		if err := <-s.err; err != nil {
			t.Errorf("one of the others: %v", err)
		}
		s.end()
	}
	if held := in.holds(); held != 0 {
		t.Errorf("%d bytes are held at the end", held)
	}
}

// Complete requests that wait for a review are not dropped, so that others get no memory.
func TestInboxKeepsCompleteRequests(t *testing.T) {
	in := &inbox{most: firstBytes}
	first := in.send(t)
	first.write.Close()
	if err := <-first.err; err != nil {
		t.Fatal(err)
	}
	second := in.send(t)
	if err := <-second.err; !errors.Is(err, errGivenUp) {
		t.Errorf("the second one: %v", err)
	}
	first.end()
	second.end()
	third := in.send(t)
	defer third.end()
	third.write.Close()
	if err := <-third.err; err != nil {
		t.Errorf("the third one: %v", err)
	}
}

// trickler sends a large request byte by byte. When it is disconnected, it reconnects, until stop is closed. It calls
// began each time.
func trickler(address string, stop <-chan struct{}, began func()) {
	for {
		conn, err := net.Dial("tcp", address) //nolint:noctx // ended by stop
		if err != nil {
			return
		}
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n{", Path, bodyLimit)
		began()
		for err == nil {
			select {
			case <-stop:
				err = net.ErrClosed
			case <-time.After(10 * time.Millisecond):
				_, err = io.WriteString(conn, " ")
			}
		}
		conn.Close()
		select {
		case <-stop:
			return
		default:
		}
	}
}

func TestFullInboxReturnsServiceUnavailable(t *testing.T) {
	h := newHandler(&Handler{Check: compile})
	h.inbox.most = firstBytes - 1
	if code, answer := send(t, h, "{}"); code != http.StatusServiceUnavailable || answer != "busy\n" {
		t.Errorf("the answer is %d %q", code, answer)
	}
}

// 200 clients that send slowly, and reconnect when they are disconnected, block no others.
func TestSlowSendersDoNotBlockOtherReviews(t *testing.T) {
	const tricklers, honest = 200, 20
	h := newHandler(&Handler{Check: compile})
	h.inbox.most = tricklers / 2 * firstBytes
	server := httptest.NewServer(h)
	defer server.Close()
	stop := make(chan struct{})
	var all, begun sync.WaitGroup
	begun.Add(tricklers)
	for range tricklers {
		all.Go(func() { trickler(server.Listener.Addr().String(), stop, sync.OnceFunc(begun.Done)) })
	}
	defer all.Wait()
	defer close(stop)
	begun.Wait()
	longest := time.Duration(0)
	for range honest {
		begin := time.Now()
		if answer := call(t, server, wrong); !strings.Contains(answer, "unknown function lowre") {
			t.Fatalf("the answer is %s", answer)
		}
		longest = max(longest, time.Since(begin))
		if held := h.inbox.holds(); held > h.inbox.most {
			t.Fatalf("%d bytes are held", held)
		}
	}
	t.Logf("beside %d tricklers, the slowest of %d answers took %s", tricklers, honest, longest)
}
