package cases

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCaseNumbersKeepPrecision(t *testing.T) {
	file := filepath.Join(t.TempDir(), File)
	const text = "steps:\n- name: a\n  parent: {spec: {large: 9007199254740993, part: 1.5, list: [1]}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := read(file)
	if c.broken != nil {
		t.Fatal(c.broken)
	}
	spec, _ := c.Steps[0].Parent["spec"].(map[string]any)
	list, _ := spec["list"].([]any)
	if spec["large"] != int64(9007199254740993) || spec["part"] != 1.5 || len(list) != 1 || list[0] != int64(1) {
		t.Errorf("got %#v", spec)
	}
}

func TestNegativeAfterIsRejected(t *testing.T) {
	file := filepath.Join(t.TempDir(), File)
	if err := os.WriteFile(file, []byte("steps:\n- {name: a, after: -5h}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := read(file).broken; err == nil || !strings.HasSuffix(err.Error(), "steps[0].after: write a duration such as 90s or 10m") {
		t.Errorf("the error is %v", err)
	}
}

func TestFindFollowsLinkedFolder(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, File), []byte("steps: [{name: a}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	if all := Find([]string{link}); len(all) != 1 || all[0].Folder != link || all[0].broken != nil {
		t.Errorf("got %+v", all)
	}
}

// Git may check files out with the ends of lines that Windows has.
func TestCompareIgnoresLineEndings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "1-a.yaml")
	if err := os.WriteFile(file, []byte("a: 1\r\nb: 2\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if difference, err := compare(file, []byte("a: 1\nb: 2\n")); difference != "" || err != nil {
		t.Errorf("got the difference %q and error %v", difference, err)
	}
	if difference, err := compare(file, []byte("a: 1\nb: 3\n")); !strings.Contains(difference, "+b: 3") || err != nil {
		t.Errorf("another value: got the difference %q and error %v", difference, err)
	}
}

// The name of a folder is no pattern: files of another case are not to be removed.
func TestStaleFilesIgnoreOtherCases(t *testing.T) {
	folder := t.TempDir()
	for _, path := range []string{"a[1]/expected/1-a.yaml", "a[1]/expected/2-b.yaml", "a[1]/expected/README.md", "a1/expected/1-a.yaml"} {
		if err := write(filepath.Join(folder, path), nil); err != nil {
			t.Fatal(err)
		}
	}
	c := &Case{Folder: filepath.Join(folder, "a[1]")}
	used, old := filepath.Join(c.Folder, "expected", "1-a.yaml"), filepath.Join(c.Folder, "expected", "2-b.yaml")
	if left, err := c.stale([]string{used}, false); len(left) != 1 || left[0] != old || err != nil {
		t.Errorf("got %v and error %v", left, err)
	}
	if _, err := c.stale([]string{used}, true); err != nil || exists(old) || !exists(used) || !exists(filepath.Join(folder, "a1/expected/1-a.yaml")) {
		t.Errorf("after the removal: error %v; there are %v, %v", err, exists(old), exists(used))
	}
}
