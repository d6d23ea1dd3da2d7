// Package layout defines the paths of the sources, the cache folder with the build outputs, and the state of each
// cluster.
package layout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// DefaultName is the default name of a cluster.
const DefaultName = "templater"

// Cache holds the two root folders.
type Cache struct {
	Source string // e2e/cluster, which holds mods/
	Dir    string // .cache/cluster: build outputs, unpacked packages, state
}

// Find returns the cache of the repository that contains the working directory. A non-empty dir overrides the default,
// .cache/cluster at the top.
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

// repository walks up from the working directory to the folder that contains e2e/cluster/mods.
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

// Module returns the folder of the module that pins the dependencies of name.
func (c Cache) Module(name string) string { return filepath.Join(c.Source, "mods", name) }

// Path joins parts below the cache folder.
func (c Cache) Path(parts ...string) string {
	return filepath.Join(append([]string{c.Dir}, parts...)...)
}

// Bin returns the path of a built program, or the folder of all programs without a name.
func (c Cache) Bin(name ...string) string {
	return c.Path(append([]string{"bin"}, name...)...)
}

// Images lists the archives of the images that are preloaded on every node.
func (c Cache) Images() ([]string, error) { return filepath.Glob(c.Path("images", "*.tar")) }

// Root returns the folder that the Debian packages are unpacked into.
func (c Cache) Root() string { return c.Path("root") }

// Libraries returns the folder of the unpacked packages' shared libraries. Its name contains the machine's
// architecture, so it is looked up.
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
