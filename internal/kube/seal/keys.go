package seal

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The data of the Secret: each key is named by a number, and the greatest number is the newest key. Since is optional.
const (
	dataSince   = "since"
	shortestKey = 32 // bytes
	longestID   = 12 // digits
	mostKeys    = 16
)

// Keys are the keys in a Secret.
type Keys struct {
	// Since: objects created before this time may have no seal, or the seal of a lost key. Zero if there are no such objects.
	Since time.Time
	all   []*key // newest first, at least one
	fresh bool   // whether they are not yet in the Secret: Data omits since, because the server determines it
}

// ErrNoKey means that a Secret contains no key yet.
var ErrNoKey = errors.New("it has no key")

// Generate returns a new key. Its number is now in Unix seconds.
func Generate(now time.Time) *Keys {
	secret := make([]byte, shortestKey)
	_, _ = rand.Read(secret) // never fails
	return &Keys{fresh: true, all: []*key{newKey(strconv.FormatInt(now.Unix(), 10), secret)}}
}

// Parse parses the data of a Secret. It returns ErrNoKey if there is no key. Errors contain no values of the Secret. made is the
// API server time at which the first key was added; it is used if the data has no "since".
func Parse(data map[string]any, made time.Time) (*Keys, error) {
	k := &Keys{Since: made}
	for name, value := range data {
		text, _ := value.(string)
		content, err := base64.StdEncoding.DecodeString(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("data %q is not base64", public(name))
		case name == dataSince:
			if k.Since, err = time.Parse(time.RFC3339, strings.TrimSpace(string(content))); err != nil {
				return nil, errors.New(`data "since" is not a time: write one such as 2026-01-31T12:00:00Z`)
			}
		case !number(name):
			return nil, fmt.Errorf("invalid key name %q: use a number of at most %d digits, such as the output of date +%%s", public(name), longestID)
		case len(content) < shortestKey:
			return nil, fmt.Errorf("key %q is too short: use %d random bytes", public(name), shortestKey)
		default:
			k.all = append(k.all, newKey(name, content))
		}
	}
	if len(k.all) == 0 {
		return nil, ErrNoKey
	}
	if len(k.all) > mostKeys {
		return nil, fmt.Errorf("it has %d keys; the limit is %d", len(k.all), mostKeys)
	}
	slices.SortFunc(k.all, func(a, b *key) int { return cmp.Or(cmp.Compare(len(b.id), len(a.id)), strings.Compare(b.id, a.id)) })
	return k, nil
}

// Data returns the data of the Secret, as JSON data.
func (k *Keys) Data() map[string]any {
	data := map[string]any{}
	for _, one := range k.all {
		data[one.id] = base64.StdEncoding.EncodeToString(one.secret)
	}
	if !k.fresh {
		data[dataSince] = base64.StdEncoding.EncodeToString([]byte(k.Since.UTC().Format(time.RFC3339)))
	}
	return data
}

// IDs returns the numbers of the keys, newest first.
func (k *Keys) IDs() []string {
	var out []string
	for _, one := range k.all {
		out = append(out, one.id)
	}
	return out
}

func (k *Keys) newest() *key { return k.all[0] }

// find returns the key with that number, or nil.
func (k *Keys) find(id string) *key {
	for _, one := range k.all {
		if one.id == id {
			return one
		}
	}
	return nil
}

func (k *Keys) same(other *Keys) bool {
	return k.Since.Equal(other.Since) &&
		slices.EqualFunc(k.all, other.all, func(a, b *key) bool { return a.id == b.id && bytes.Equal(a.secret, b.secret) })
}

// number reports whether name is a valid number, without leading zeros.
func number(name string) bool {
	return len(name) > 0 && len(name) <= longestID && name[0] != '0' && strings.Trim(name, "0123456789") == ""
}

// public returns the name of a data key for messages. It is truncated, so that a secret value that was used as the name by
// mistake is not logged.
func public(name string) string {
	if len(name) > longestID {
		return name[:longestID] + "…"
	}
	return name
}
