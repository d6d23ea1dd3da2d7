package document

import (
	"errors"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/token"
)

// TestNodePropertiesAreChecked covers nodes that the parser may create from text that the author did not write.
func TestNodePropertiesAreChecked(t *testing.T) {
	const marker = "\ue000"
	for why, row := range map[string]struct {
		n      yaml.Node
		data   bool
		fails  bool
		column int
	}{
		"neither":                       {n: yaml.Node{Kind: yaml.ScalarNode}},
		"a token in an anchor":          {n: yaml.Node{Kind: yaml.ScalarNode, Anchor: marker + "0x"}, fails: true},
		"a token in a tag":              {n: yaml.Node{Kind: yaml.ScalarNode, Tag: marker + "0x"}, fails: true},
		"marker in data":                {n: yaml.Node{Kind: yaml.ScalarNode, Anchor: marker + "0x"}, data: true},
		"text":                          {n: yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.TaggedStyle}},
		"a map that is text":            {n: yaml.Node{Kind: yaml.MappingNode, Tag: "!!str", Style: yaml.TaggedStyle}, fails: true},
		"a map":                         {n: yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.TaggedStyle}},
		"a list that is a map":          {n: yaml.Node{Kind: yaml.SequenceNode, Tag: "!!map", Style: yaml.TaggedStyle}, fails: true},
		"a list":                        {n: yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.TaggedStyle}},
		"a list that is something else": {n: yaml.Node{Kind: yaml.SequenceNode, Tag: "!x", Style: yaml.TaggedStyle}, fails: true},
		"a map that is a list":          {n: yaml.Node{Kind: yaml.MappingNode, Tag: "!!seq", Style: yaml.TaggedStyle}, fails: true},
		"a number":                      {n: yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Style: yaml.TaggedStyle}, fails: true},
		"an implicit tag":               {n: yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Line: 1, Column: 1}, fails: true},
		"no tag at the place":           {n: yaml.Node{Kind: yaml.ScalarNode, Line: 1, Column: 2}},
		"a place that is not there":     {n: yaml.Node{Kind: yaml.ScalarNode, Line: 2, Column: 1}},
		"the end":                       {n: yaml.Node{Kind: yaml.ScalarNode, Line: 1, Column: 4}},
		"an alias":                      {n: yaml.Node{Kind: yaml.AliasNode, Line: 1, Column: 1}},
	} {
		x := &token.Table{Meter: newMeter(), Marker: marker}
		c := &converter{x: x, from: &yamlText{content: "! a", starts: []int{0}, bangs: true, template: !row.data}}
		if err := c.properties(&row.n); (err != nil) != row.fails {
			t.Errorf("%s: %v", why, err)
		}
	}
	x := &token.Table{Marker: marker}
	c := &converter{x: x, from: &yamlText{content: "! a", starts: []int{0}, bangs: true}}
	if err := c.properties(&yaml.Node{Kind: yaml.ScalarNode, Line: 1, Column: 1}); !errors.Is(err, budget.ErrWork) {
		t.Errorf("with no work left: %v", err)
	}
	if _, err := c.value(&yaml.Node{}, elsewhere, 0); !errors.Is(err, budget.ErrNodes) {
		t.Errorf("with no nodes left: %v", err)
	}
	x.Meter = newMeter()
	if _, err := c.value(&yaml.Node{}, elsewhere, 0); err == nil || err.Error() != "unsupported YAML syntax" {
		t.Errorf("a node of no kind: %v", err)
	}
}

func TestOffsetOfUnknownNodeIsNegative(t *testing.T) {
	d := Document{&converter{from: &yamlText{}}, &yaml.Node{}}
	if got := d.Offset(); got != -1 {
		t.Errorf("offset %d, want none", got)
	}
}
