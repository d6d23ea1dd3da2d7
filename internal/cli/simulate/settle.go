package simulate

import "errors"

// mostPasses is how many reconciliations Settle runs at most.
const mostPasses = 100

// ErrRestless means that each reconciliation writes again.
var ErrRestless = errors.New("each reconciliation writes again, in an endless loop: the template depends on what templater itself wrote")

// Settle reconciles until nothing is written, or the parent is deleted, and returns the last result with all writes before it. The error may be
// [ErrRestless].
func (s *Simulator) Settle(in State) (Result, State, error) {
	var writes []Write
	var last Result
	for range mostPasses {
		result, next, err := s.Pass(in)
		if err != nil {
			return result, in, err
		}
		if in = next; !result.changed || result.Gone {
			result.Writes = append(writes, result.Writes...)
			return result, in, nil
		}
		last, writes = result, append(writes, result.Writes...)
	}
	last.Writes = writes
	return last, in, ErrRestless
}

// SettleReady is Settle where the children of some entries become ready as soon as they are there, also by the readyWhen of their entry.
// ready is asked with "" for objects that carry no label of an entry.
func (s *Simulator) SettleReady(in State, ready func(entry string) bool) (Result, State, error) {
	var writes []Write
	var result Result
	for range mostPasses {
		var next State
		var err error
		result, next, err = s.Settle(in)
		writes, in = append(writes, result.Writes...), next
		result.Writes = writes
		if err != nil || result.Gone {
			return result, in, err
		}
		out, changed := s.makeReady(in, ready)
		if !changed {
			return result, in, nil
		}
		in = out
	}
	return result, in, ErrRestless
}
