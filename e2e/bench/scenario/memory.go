package scenario

import (
	"context"
	"errors"
)

func (b *Bench) memory(context.Context) error { return errors.ErrUnsupported }
