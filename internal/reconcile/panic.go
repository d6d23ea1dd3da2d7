package reconcile

import (
	"errors"
)

// ErrPanic says that work has met a bug. What it was about is tried again.
var ErrPanic = errors.New("panic in a pass: this is a bug, please report it with the stack from the log")
