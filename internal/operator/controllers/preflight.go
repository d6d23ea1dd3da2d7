package controllers

import (
	"context"

	v1 "github.com/templater-dev/templater/api/v1"
)

// preflight is the dry run of a revision.
type preflight struct{}

func (l *syncRun) preflight(context.Context, *rolloutStatus) (bool, error) { return true, nil }

func (l *syncRun) preview(context.Context) *v1.RolloutPreview { return nil }
