package schema

import "unsafe"

// What a map takes: it has room for 8 keys, or for a power of two, of which one eighth stays free.
const (
	mapBytes  = 48
	slotBytes = int(unsafe.Sizeof("")+unsafe.Sizeof(Field{})) + 1
)

func mapSize(keys int) int {
	slots := 8
	for slots > 8 && keys > slots*7/8 || keys > slots {
		slots *= 2
	}
	return mapBytes + slots*slotBytes
}

// textSize is what a text takes that no other shares: room comes in steps.
func textSize(text string) int { return (len(text) + 15) / 16 * 16 }

// Size returns about how many bytes of memory a Set takes that this package has read, what its types share counted once. Of
// another Set it is 0.
func Size(set Set) int {
	read, ok := set.(*types)
	if !ok {
		return 0
	}
	m := measure{seen: map[*Type]bool{}}
	for _, t := range read.byKind {
		m.add(t)
	}
	return m.bytes
}

type measure struct {
	seen  map[*Type]bool
	bytes int
}

func (m *measure) add(t *Type) {
	if t == nil || m.seen[t] || int(t.Kinds) < len(plain) && t == plain[t.Kinds] {
		return
	}
	m.seen[t] = true
	m.bytes += int(unsafe.Sizeof(*t)) + textSize(t.Name)
	for _, text := range t.Enum {
		m.bytes += int(unsafe.Sizeof(text)) + textSize(text)
	}
	m.add(t.Items)
	if t.Fields != nil {
		m.bytes += mapSize(len(t.Fields))
	}
	for name, f := range t.Fields {
		m.bytes += textSize(name)
		m.add(f.Type)
	}
}
