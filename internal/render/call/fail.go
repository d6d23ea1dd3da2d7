package call

import (
	"errors"
	"fmt"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// StopError is how the author's own end of rendering travels.
type StopError struct {
	Reason  syntax.Reason
	Message string
}

// Error returns the message.
func (e *StopError) Error() string { return e.Message }

// Fail makes the call fail, and returns nil for it to yield. The message begins with the name of the function.
func (c *Call) Fail(format string, args ...any) any {
	if c.Err == nil {
		c.Err = errors.New(c.f.Name + ": " + fmt.Sprintf(format, args...))
	}
	return nil
}

// FailWith makes the call fail with err as it is; nil changes nothing.
func (c *Call) FailWith(err error) {
	if c.Err == nil {
		c.Err = err
	}
}

// FailBecause makes the call fail: with err as it is where the budget is used up, else with its message behind the name of the
// function. nil changes nothing.
func (c *Call) FailBecause(err error) {
	switch {
	case budget.Ended(err):
		c.FailWith(err)
	case err != nil:
		c.Fail("%s", err)
	}
}

// Pay charges for work or memory; the caller must not go on when it reports
// false.
func (c *Call) Pay(units int) bool {
	c.FailWith(c.Charge(units))
	return c.Err == nil
}

// PayFor pays for n times a number of units.
func (c *Call) PayFor(n, units int) bool {
	c.FailWith(c.ChargeFor(n, units))
	return c.Err == nil
}
