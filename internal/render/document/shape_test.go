package document

import (
	"errors"
	"testing"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/token"
)

func TestCachedShapeIsCharged(t *testing.T) {
	known := &shape{yamlText: &yamlText{content: "a: 1", cost: parsingCost("a: 1")}}
	if err := known.read(new(token.Table), nil); !errors.Is(err, budget.ErrWork) {
		t.Errorf("a shape that is known, and no work left: %v", err)
	}
}
