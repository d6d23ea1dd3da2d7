package model

// Learn notes of which kinds each TemplateController has made children since it was created. One that is made anew, and whose
// templates yield nothing of a kind, does not know of the children of its predecessor of that kind.
func (w *World) Learn() {
	for _, child := range w.Children() {
		if w.Controllers[child.Shape].Frozen() {
			continue
		}
		if w.known[child.Shape] == nil {
			w.known[child.Shape] = map[string]bool{}
		}
		w.known[child.Shape][child.ID.Resource] = true
	}
}

// Knows reports whether the TemplateController has made children of that kind, at the end of a round.
func (w *World) Knows(shape, resource string) bool { return w.known[shape][resource] }

// forget notes that a TemplateController is another one.
func (w *World) forget(shape string) { delete(w.known, shape) }
