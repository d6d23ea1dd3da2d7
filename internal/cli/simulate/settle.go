package simulate

import "errors"

// mostReconciliations is the maximum number of reconciliations of Settle.
const mostReconciliations = 100

// ErrNotConverging means that every reconciliation writes.
var ErrNotConverging = errors.New("every reconciliation causes another write: the template depends on fields that templater writes")

// Settle reconciles until nothing is written, or the parent is deleted, and returns the last result with all writes before it. The error can be
// [ErrNotConverging].
func (s *Simulator) Settle(in State) (Result, State, error) {
	var writes []Write
	var last Result
	for range mostReconciliations {
		result, next, err := s.Reconcile(in)
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
	return last, in, ErrNotConverging
}

// SettleReady is like Settle, but the children of some child templates become ready once they exist, also by readyWhen.
// ready is called with "" for objects without the label of a child template.
func (s *Simulator) SettleReady(in State, ready func(entry string) bool) (Result, State, error) {
	var writes []Write
	var result Result
	for range mostReconciliations {
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
	return result, in, ErrNotConverging
}
