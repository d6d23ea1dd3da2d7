package object

import "strings"

// What Content allocates, found by trying the worst; see TestContentCosts.
const (
	objectBytes = 300 // an object that is not empty
	memberBytes = 40  // a member of it, besides its comma
	itemBytes   = 70  // an item of a list, and the list with it
)

// Len returns how many bytes the text of the object has.
func (o *Object) Len() int { return len(o.data) }

// ContentBytes returns how many bytes Content allocates at most. It takes the time of
// looking at the text, and no memory.
func (o *Object) ContentBytes() int { return bytesOf(o.data) }

// BytesAt returns how many bytes At allocates at most.
func (o *Object) BytesAt(path ...string) int { return bytesOf(o.raw(path)) }

func bytesOf(text string) int {
	const least = 1024
	n := least + itemBytes*strings.Count(text, "[") + objectBytes*strings.Count(text, "{") + itemBytes*strings.Count(text, ",") + memberBytes*strings.Count(text, ":")
	if strings.Contains(text, `\`) { // texts with escapes are copied
		n += 2 * len(text)
	}
	return n
}
