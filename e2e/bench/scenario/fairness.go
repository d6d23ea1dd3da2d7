package scenario

import (
	"context"
	"errors"
)

func (b *Bench) fairness(context.Context) error { return errors.ErrUnsupported }
