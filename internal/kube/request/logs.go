package request

import "time"

const (
	// LogLimit is the timeout of a log request. An unreachable node blocks the API server for 30 s.
	LogLimit = 10 * time.Second
	// MaxLogBytes is the maximum size of a log request in bytes, regardless of LogOptions.
	MaxLogBytes = 256 << 10
)

// LogOptions are the options of a container log request.
type LogOptions struct {
	TailLines  int64 // return at most this many of the last lines
	LimitBytes int64 // return at most this many of the last bytes of these lines; MaxLogBytes is the upper limit
	Previous   bool  // the log of the previous, terminated container
}
