package certificate

import (
	"bytes"
	"encoding/base64"
	"slices"
	"time"
)

// The keys in the Secret: of the newest pair, as in Secrets of type kubernetes.io/tls, and of the previous one.
var keys = [...]struct{ crt, key string }{{"tls.crt", "tls.key"}, {"old.crt", "old.key"}}

// pairs are the pairs in the Secret, newest first: at most two. They are immutable.
type pairs []*pair

// read parses the data of the Secret. whole is false if part of it is invalid.
func read(data map[string]any) (all pairs, whole bool) {
	for _, at := range keys {
		crt, key := decode(data[at.crt]), decode(data[at.key])
		if len(crt) == 0 && len(key) == 0 {
			continue
		}
		one, err := parse(crt, key)
		if err != nil {
			return all, false
		}
		all = append(all, one)
	}
	return all, true
}

func decode(value any) []byte {
	text, _ := value.(string)
	content, _ := base64.StdEncoding.DecodeString(text) // validated by the API server
	return content
}

// data returns the data of the Secret.
func (p pairs) data() map[string]any {
	data := map[string]any{}
	for i, one := range p {
		data[keys[i].crt], data[keys[i].key] = base64.StdEncoding.EncodeToString(one.crt), base64.StdEncoding.EncodeToString(one.key)
	}
	return data
}

// renewed returns the desired pairs for a server with these names, and whether they differ from p.
func (p pairs) renewed(names []string, now time.Time) (pairs, bool, error) {
	if len(p) > 0 && p[0].valid(now) && now.Before(p[0].due()) && p[0].names(names) {
		return p, false, nil
	}
	fresh, err := generate(names, now)
	if err != nil {
		return nil, false, err
	}
	valid := slices.DeleteFunc(slices.Clone(p), func(one *pair) bool { return !one.valid(now) || !one.names(names) })
	return append(pairs{fresh}, valid[:min(len(valid), len(keys)-1)]...), true, nil
}

// shown returns the pair to serve, or nil if there is none: the newest, unless clients may not trust it yet and trust
// the previous one.
func (p pairs) shown(now time.Time, published func(*pair) bool) *pair {
	switch {
	case len(p) == 0:
		return nil
	case len(p) == 1, !p[1].valid(now):
		return p[0]
	case now.Before(p[0].made().Add(overlap)), !published(p[0]) && published(p[1]):
		return p[1]
	}
	return p[0]
}

// bundle returns the CA bundle of the pairs.
func (p pairs) bundle() []byte {
	var all [][]byte
	for _, one := range p {
		all = append(all, one.crt)
	}
	return bytes.Join(all, nil)
}
