package object

import "strings"

// What Content allocates, found by trying the worst; see TestContentCosts.
const (
	objectBytes = 300 // an object that is not empty
	memberBytes = 40  // a member of it, besides its comma
	itemBytes   = 70  // an item of a list, and the list with it
)

// ContentBytes returns how many bytes Content allocates at most. It takes the time of
// looking at the text, and no memory.
func (o *Object) ContentBytes() int {
	const least = 1024
	n := least + itemBytes*strings.Count(o.data, "[") + objectBytes*strings.Count(o.data, "{") + itemBytes*strings.Count(o.data, ",") + memberBytes*strings.Count(o.data, ":")
	if strings.Contains(o.data, `\`) { // texts with escapes are copied
		n += 2 * len(o.data)
	}
	return n
}
