package model

// Learn records the kinds of which each TemplateController has created children since its own creation. A recreated one
// whose templates render no object of a kind does not observe its predecessor's children of that kind.
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

// Knows reports whether the TemplateController has created children of that kind, at the end of a round.
func (w *World) Knows(shape, resource string) bool { return w.known[shape][resource] }

// forget records that a TemplateController was recreated.
func (w *World) forget(shape string) { delete(w.known, shape) }
