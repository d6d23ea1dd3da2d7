package scenario

import (
	"context"
	"errors"
)

func (b *Bench) requests(context.Context) error { return errors.ErrUnsupported }
