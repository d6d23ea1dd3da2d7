package tally

// Tally is how one parent fared in its last pass.
type Tally struct {
	Generation              int64  // of the TemplateController that the parent was reconciled with
	Ready, Failed           bool   // neither = it waits
	Suspended               bool   // it is not reconciled: nothing else is known but Generation
	Unobserved              bool   // its children were not read: they count as before
	Reason                  string // of the problem to show, where it has failed
	Foreign                 bool   // another manager owns the ready condition
	Rival                   string // the TemplateController that owns the ready condition
	Contested               string // what of the status another TemplateController writes
	Denied                  string // which right is missing to write the status
	Children, ChildrenReady int64
	Kinds                   uint64 // that the templates want, each by a bit of its controller's
	Round                   int64  // in which all that they want was known; 0 = it was not
}
