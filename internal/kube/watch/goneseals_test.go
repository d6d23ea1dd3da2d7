package watch

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
)

// sealed is a child with an unsigned seal of that serial; 0 means no seal.
func sealed(name string, version int, serial int64) *object.Object {
	return sealedAndCreated(name, version, serial, "2026-01-01T00:00:00Z")
}

func sealedAndCreated(name string, version int, serial int64, created string) *object.Object {
	annotations := map[string]any{}
	if serial != 0 {
		annotations[v1.AnnotationSeal] = "1:2:" + strconv.FormatInt(serial, 36) + ":x:::maps"
	}
	return pack(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"namespace": "ns", "name": name, "uid": "uid-" + name, "resourceVersion": strconv.Itoa(version), "creationTimestamp": created,
			"labels": map[string]any{v1.LabelController: "c", v1.LabelParentUID: "p"}, "annotations": annotations,
		},
	})
}

// TestEarlierSealCountsAsRestored removes the child a with serial 20 from the cache, and adds it or another one again.
func TestEarlierSealCountsAsRestored(t *testing.T) {
	type step func(c *Cache) error
	update := func(name string, version int, serial int64) step {
		return func(c *Cache) error { return c.Update(sealed(name, version, serial)) }
	}
	leave := func(version int) step {
		return func(c *Cache) error { return c.Delete(sealed("a", version, 0)) }
	}
	list := func(version int, objects ...any) step {
		return func(c *Cache) error { return c.Replace(objects, strconv.Itoa(version)) }
	}
	own := func(version int, serial int64) step {
		return func(c *Cache) error {
			o := sealed("a", version, serial)
			o.Note(object.Ours | object.OwnWrite)
			c.Put(o, "me")
			return nil
		}
	}
	othersLeave := func(c *Cache, number int) error { // with serial 30
		for i := range number {
			name := fmt.Sprint("other-", i)
			if err := c.Update(sealed(name, 13, 30)); err != nil {
				return err
			}
			if err := c.Delete(sealed(name, 13, 30)); err != nil {
				return err
			}
		}
		return nil
	}
	someLeave := func(c *Cache) error { return othersLeave(c, 2*goneBuckets) }
	manyLeave := func(c *Cache) error { return othersLeave(c, 3*goneExact*goneBuckets) }
	for why, row := range map[string]struct {
		steps []step
		name  string
		want  bool
	}{
		"the first list":                                           {nil, "a", false},
		"it leaves and has an earlier seal":                        {[]step{leave(12), update("a", 13, 10)}, "a", true},
		"it leaves and has the same seal":                          {[]step{leave(12), update("a", 13, 20)}, "a", false},
		"it leaves and another replica has sealed it":              {[]step{leave(12), update("a", 13, 21)}, "a", false},
		"it leaves and has no seal":                                {[]step{leave(12), update("a", 13, 0)}, "a", true},
		"it leaves, has no seal, and then an earlier one":          {[]step{leave(12), update("a", 13, 0), update("a", 14, 10)}, "a", true},
		"it loses its seal, leaves, and has an earlier one":        {[]step{update("a", 12, 0), leave(13), update("a", 14, 10)}, "a", true},
		"it has an earlier seal, leaves, and has one between":      {[]step{update("a", 12, 10), leave(13), update("a", 14, 11)}, "a", true},
		"it leaves twice":                                          {[]step{leave(12), update("a", 13, 10), leave(14), update("a", 15, 10)}, "a", true},
		"it leaves, then a hundred others, and it has the same":    {[]step{leave(12), someLeave, update("a", 14, 20)}, "a", false},
		"it leaves, then a hundred others, and it has an earlier":  {[]step{leave(12), someLeave, update("a", 14, 10)}, "a", true},
		"it leaves, then thousands of others, and it has the same": {[]step{leave(12), manyLeave, update("a", 14, 20)}, "a", true}, // more than are stored individually
		"it leaves, and then thousands of others":                  {[]step{leave(12), manyLeave, update("a", 14, 10)}, "a", true},
		"it leaves before thousands of others, and again":          {[]step{leave(12), manyLeave, update("a", 14, 10), leave(15), update("a", 16, 10)}, "a", true},
		"it loses its seal, thousands leave, and then it":          {[]step{update("a", 12, 0), manyLeave, leave(14), update("a", 15, 10)}, "a", true},
		"a list lacks it, and the watch brings an earlier seal":    {[]step{list(12), update("a", 13, 10)}, "a", true},
		"a list lacks it, and the next has an earlier seal":        {[]step{list(12), list(13, sealed("a", 13, 10))}, "a", true},
		"it leaves, and a list has an earlier seal":                {[]step{leave(12), list(13, sealed("a", 13, 10))}, "a", true},
		"it leaves, and we write it":                               {[]step{leave(12), own(13, 10)}, "a", false},
		"it leaves, we write it, and the watch was quicker":        {[]step{leave(12), update("a", 13, 10), own(13, 10)}, "a", false},
		"another replica creates a child":                          {[]step{update("b", 12, 5)}, "b", false},
		"another replica creates a child, and the watch was later": {[]step{leave(12), update("b", 13, 19)}, "b", false},
		"another replica creates a child after thousands left":     {[]step{manyLeave, update("b", 14, 31)}, "b", false},
		"thousands of others leave, and then it":                   {[]step{manyLeave, leave(14), update("a", 15, 20)}, "a", false},
	} {
		t.Run(why, func(t *testing.T) {
			c := newRecorder(t, Want{Role: Child}).Cache
			for i, step := range append([]step{list(11, sealed("a", 11, 20))}, row.steps...) {
				if err := step(c); err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
			}
			if got := c.Get(sealed(row.name, 1, 0).Key()).Noted(object.Restored); got != row.want {
				t.Errorf("its seal counts as restored: %v, want %v", got, row.want)
			}
		})
	}
}

// TestNewerChildIsNotRestored has a replica with a slow clock that seals a new child after another child was removed.
func TestNewerChildIsNotRestored(t *testing.T) {
	for why, row := range map[string]struct {
		name, created string
		want          bool
	}{
		"a child that was created later":                  {"b", "2026-01-01T00:00:02Z", false},
		"one that was created in the same second":         {"b", "2026-01-01T00:00:01Z", true},
		"the child that left, as if it was created later": {"a", "2026-01-01T00:00:02Z", true},
	} {
		t.Run(why, func(t *testing.T) {
			g := &goneSeals{make([]goneBucket, goneBuckets)}
			left := sealedAndCreated("a", 1, 20, "2026-01-01T00:00:01Z")
			for i := range g.buckets { // fill the buckets of all names
				g.buckets[i] = goneBucket{others: 20, created: created(left)}
			}
			g.note(left)
			o := sealedAndCreated(row.name, 2, 10, row.created)
			if g.judge(o); o.Noted(object.Restored) != row.want {
				t.Errorf("its seal counts as restored: %v, want %v", !row.want, row.want)
			}
		})
	}
}

// TestEarlierSealIsNeverAccepted has many children that change their seals and are removed and added, so that they share buckets.
func TestEarlierSealIsNeverAccepted(t *testing.T) {
	const seed1, seed2 = 1, 2
	random := rand.New(rand.NewPCG(seed1, seed2)) //nolint:gosec // not used for secrets
	c := newRecorder(t, Want{Role: Child}).Cache
	greatest := map[string]int64{}
	for version := 1; version <= 20000; version++ {
		name := strconv.Itoa(random.IntN(2 * goneExact * goneBuckets))
		o := sealed(name, version, random.Int64N(50))
		if random.IntN(3) == 0 {
			if err := c.Delete(o); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := c.Update(o); err != nil {
			t.Fatal(err)
		}
		if o.Serial() < greatest[name] && !o.Noted(object.Restored) {
			t.Fatalf("version %d of %s: serial %d is believed after %d", version, name, o.Serial(), greatest[name])
		}
		greatest[name] = max(greatest[name], o.Serial())
	}
}

// TestLiveReadDetectsRestoredSeal reads a child that has lost its label and was therefore removed from the cache.
func TestLiveReadDetectsRestoredSeal(t *testing.T) {
	for serial, want := range map[int64]bool{10: true, 20: false} {
		t.Run(fmt.Sprint("serial ", serial, " after 20"), func(t *testing.T) {
			c := newRecorder(t, Want{Role: Child}).Cache
			for _, err := range []error{c.Replace([]any{sealed("a", 11, 20)}, "11"), c.Delete(sealed("a", 12, 20))} {
				if err != nil {
					t.Fatal(err)
				}
			}
			o := sealed("a", 13, serial)
			if c.NoteRestored(o); o.Noted(object.Restored) != want {
				t.Errorf("its seal counts as restored: %v, want %v", !want, want)
			}
		})
	}
}

// TestRecordingSealsAllocatesNothing removes and adds a child.
func TestRecordingSealsAllocatesNothing(t *testing.T) {
	g, o := &goneSeals{}, sealed("a", 1, 20)
	if n := testing.AllocsPerRun(100, func() { g.note(o); g.judge(o) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
