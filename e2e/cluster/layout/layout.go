// Package layout knows where everything lives: the sources that are built,
// the cache folder that holds what was built, and the state of each cluster.
package layout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// DefaultName is the name of the cluster that commands use unless told.
const DefaultName = "templater"

// Cache names the two folders everything else is found from.
type Cache struct {
	Source string // e2e/cluster, which holds mods/
	Dir    string // .cache/cluster: build outputs, unpacked packages, state
}

// Find returns the cache of the repository that holds the working directory.
// A non-empty dir replaces its default place, .cache/cluster at the top.
func Find(dir string) (Cache, error) {
	root, err := repository()
	if err != nil {
		return Cache{}, err
	}
	if dir == "" {
		dir = filepath.Join(root, ".cache", "cluster")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Cache{}, err
	}
	return Cache{Source: filepath.Join(root, "e2e", "cluster"), Dir: abs}, nil
}

// repository walks up from the working directory to the folder that holds e2e/cluster/mods.
func repository() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "e2e", "cluster", "mods")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find the repository above %s: %w", wd, errors.ErrUnsupported)
		}
	}
}

// Module returns the folder of the module that pins what is built as name.
func (c Cache) Module(name string) string { return filepath.Join(c.Source, "mods", name) }

// Path joins parts below the cache folder.
func (c Cache) Path(parts ...string) string {
	return filepath.Join(append([]string{c.Dir}, parts...)...)
}

// Bin returns the path of a built program; without a name, their folder.
func (c Cache) Bin(name ...string) string {
	return c.Path(append([]string{"bin"}, name...)...)
}

// Images lists the image archives that every node starts with.
func (c Cache) Images() ([]string, error) { return filepath.Glob(c.Path("images", "*.tar")) }

// Root returns the folder that the Debian packages are unpacked into.
func (c Cache) Root() string { return c.Path("root") }

// Libraries returns the folder of the unpacked packages' shared libraries.
// Its name holds the machine's architecture, so it is looked up.
func (c Cache) Libraries(root string) (string, error) {
	dirs, err := filepath.Glob(filepath.Join(c.Path(root), "usr", "lib", "*-linux-gnu*"))
	if err != nil {
		return "", err
	}
	if len(dirs) == 0 {
		return "", fmt.Errorf("find libraries in %s: %w", c.Path(root), os.ErrNotExist)
	}
	return dirs[0], nil
}
