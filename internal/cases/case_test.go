package cases

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNumbersAreExact(t *testing.T) {
	file := filepath.Join(t.TempDir(), File)
	const text = "steps:\n- name: a\n  parent: {spec: {large: 9007199254740993, part: 1.5, list: [1]}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := numbers(c.Steps[0].Parent)["spec"].(map[string]any)
	list, _ := spec["list"].([]any)
	if spec["large"] != int64(9007199254740993) || spec["part"] != 1.5 || len(list) != 1 || list[0] != int64(1) {
		t.Errorf("got %#v", spec)
	}
}

func TestTimeDoesNotGoBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), File)
	if err := os.WriteFile(file, []byte("steps:\n- {name: a, after: -5h}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := read(file); err == nil || !strings.HasSuffix(err.Error(), "steps[0].after: write a duration such as 90s or 10m") {
		t.Errorf("the error is %v", err)
	}
}

func TestFoldersAreFoundByLinks(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, File), []byte("steps: [{name: a}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	all, err := Find([]string{link})
	if err != nil || len(all) != 1 || all[0].Folder != link {
		t.Errorf("got %v and %v", all, err)
	}
}
