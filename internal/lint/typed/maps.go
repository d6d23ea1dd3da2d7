package typed

import (
	"maps"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/finding"
)

func dict(e *evaluator, call *invocation) *types.Value {
	if len(call.args)%2 != 0 {
		e.errorf(finding.Argument, e.at(call.name), "dict: needs a value for each key")
		return types.OfKinds(openapi.Map)
	}
	v := &types.Value{Kinds: openapi.Map, Keys: map[string]*types.Value{}, Origin: &types.Origin{Source: types.FromTemplate}}
	for i := 0; i < len(call.args); i += 2 {
		key := call.args[i]
		switch text, written := call.text(i); {
		case written:
			v.Keys[text] = call.args[i+1]
		case key.Kinds == openapi.Null || key.Kinds != 0 && key.Kinds&types.Scalar == 0:
			e.argument(call, i, key, types.TextParam)
			v.Open = true
		default:
			v.Open = true
		}
	}
	return v
}

// key returns the value of the key that argument i names in a map.
func (e *evaluator) key(call *invocation, v *types.Value, i int) *types.Value {
	key, written := call.text(i)
	if !written {
		switch {
		case v.Kinds == openapi.Null:
			return v
		case v.Keys == nil && (v.Type == nil || v.Type.Fields == nil):
			return v.Each().Nullable()
		}
		return types.Anything
	}
	return e.field(v, key, e.argumentAt(call, i, key))
}

func get(e *evaluator, call *invocation) *types.Value { return e.key(call, call.args[0], 1) }

func hasKey(e *evaluator, call *invocation) *types.Value {
	v := call.args[0]
	if key, written := call.text(1); written {
		if _, known := v.Lookup(key); !known && v.Kinds == openapi.Map {
			if e.depth == 0 || v.Origin != nil && v.Origin.Source == types.FromSchema {
				e.provided(e.key(call, v, 1))
			}
			return types.Literal(false)
		}
		return tested(types.OfKinds(openapi.Boolean), e.key(call, v, 1))
	}
	return types.OfKinds(openapi.Boolean)
}

// index follows keys of maps and positions in lists.
func index(e *evaluator, call *invocation) *types.Value {
	v := call.args[0]
	for i := 1; i < len(call.args); i++ {
		key := call.args[i]
		if v.Kinds == openapi.Null {
			return v
		}
		bare := v.Kinds &^ openapi.Null
		switch {
		case v.Kinds != 0 && bare&(openapi.List|openapi.Map) == 0:
			e.maybe(v.Kinds&openapi.Null == 0, finding.NoFields, e.at(call.node(i)), "index: %s has no keys or positions", bare.Words())
			return types.Anything
		case key.Kinds == openapi.Null:
			if v.Kinds&openapi.Null == 0 && v.Kinds != 0 {
				e.lacksArgument(call, i, key)
			}
			return types.Anything
		case bare == openapi.List:
			if fault := types.WholeParam.Fault(key.Literal); fault != "" || !key.May(openapi.String|types.Numeric) {
				e.maybe(v.Kinds&openapi.Null == 0, finding.Argument, e.at(call.node(i)), "index: argument %d%s is not a position in a list; write a number, or use named or where", i+1, call.words(i))
				return types.Anything
			}
			v = v.Each().Nullable()
		case bare == openapi.Map:
			v = e.key(call, v, i)
		default:
			return types.Anything
		}
	}
	return v
}

func dig(e *evaluator, call *invocation) *types.Value {
	last := len(call.args) - 1
	v := call.args[last]
	if last < 2 {
		return types.Anything
	}
	if v.Kinds != 0 && v.Kinds&^openapi.Null&openapi.Map == 0 && v.Kinds != openapi.Null {
		e.errorf(finding.Argument, e.at(call.node(last)), "dig: argument %d%s is %s, not a map; the map comes last, and the default before it", last+1, call.words(last), v.Kinds.Words())
		return types.Anything
	}
	for i := range last - 1 {
		if v = e.key(call, v, i); v.Kinds == openapi.Null {
			return call.args[last-1]
		}
	}
	return types.Join(v.Present(), call.args[last-1])
}

func set(e *evaluator, call *invocation) *types.Value {
	v := call.args[0]
	key, written := call.text(1)
	if v.Keys == nil || !written {
		return types.OfKinds(openapi.Map)
	}
	e.notes.Steps += len(v.Keys)
	w := *v
	w.Keys = maps.Clone(v.Keys)
	w.Keys[key] = call.args[2]
	return &w
}

// firstMap is for functions that return a part of a map, which has no other fields than the map.
func firstMap(_ *evaluator, call *invocation) *types.Value {
	v := call.args[0]
	if v.Type == nil || v.Data != nil || v.Keys != nil {
		return types.OfKinds(openapi.Map)
	}
	part := *v.Present()
	part.Kinds, part.Sparse = openapi.Map, true
	return &part
}

func pluck(e *evaluator, call *invocation) *types.Value {
	for _, v := range call.args[1:] {
		e.key(call, v, 0)
	}
	return types.OfKinds(openapi.List)
}

func valuesOf(e *evaluator, call *invocation) *types.Value {
	e.notes.Steps += len(call.args[0].Keys)
	return types.ListOf(call.args[0].RangeValue())
}
