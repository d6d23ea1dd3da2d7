package simulate

import "errors"

// mostPasses is how many passes Settle makes.
const mostPasses = 100

// ErrRestless says that passes go on writing.
var ErrRestless = errors.New("each pass writes again, without an end: what a template yields depends on what was written for it")

// Settle makes passes until one writes nothing, and returns that one with all writes before it. The error may be [ErrRestless].
func (s *Simulator) Settle(in State) (Result, State, error) {
	var writes []Write
	for range mostPasses {
		result, next, err := s.Pass(in)
		if err != nil {
			return result, in, err
		}
		if in = next; len(result.Writes) == 0 {
			result.Writes = writes
			return result, in, nil
		}
		writes = append(writes, result.Writes...)
	}
	return Result{Writes: writes}, in, ErrRestless
}

// SettleReady is Settle where all children become ready as soon as they are there.
func (s *Simulator) SettleReady(in State) (Result, State, error) {
	var writes []Write
	for range mostPasses {
		result, next, err := s.Settle(in)
		if err != nil {
			return result, in, err
		}
		writes, in = append(writes, result.Writes...), next
		result.Writes = writes
		ready, changed := s.allReady(in)
		if !changed {
			return result, in, nil
		}
		in = ready
	}
	return Result{Writes: writes}, in, ErrRestless
}

// allReady makes the objects ready that are not.
func (s *Simulator) allReady(in State) (out State, changed bool) {
	out = in.copy()
	for i, o := range in.Objects {
		out.Objects[i] = MakeReady(o, in.Now)
		changed = changed || !same(o, out.Objects[i])
	}
	return out, changed
}
