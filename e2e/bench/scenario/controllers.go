package scenario

import (
	"context"
	"errors"
)

func (b *Bench) controllers(context.Context) error { return errors.ErrUnsupported }
