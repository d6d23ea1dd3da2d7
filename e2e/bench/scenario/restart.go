package scenario

import (
	"context"
	"errors"
)

func (b *Bench) restart(context.Context) error { return errors.ErrUnsupported }
