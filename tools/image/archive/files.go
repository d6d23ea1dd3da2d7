package archive

import (
	"io/fs"
	"os"
	"path/filepath"
)

// FromPath returns the layer for path: a folder becomes the root of the image, a single file is placed in the root
// under its own name. It adds a world-writable /tmp.
func FromPath(path string) ([]File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	tmp := File{Path: "tmp", Mode: 0o1777}
	if info.IsDir() {
		files, err := fromFolder(path)
		return append([]File{tmp}, files...), err
	}
	body, err := os.ReadFile(path)
	return []File{tmp, {Path: filepath.Base(path), Mode: int64(info.Mode().Perm()), Body: body}}, err
}

func fromFolder(root string) ([]File, error) {
	var files []File
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		file, err := read(path, entry)
		if err != nil {
			return err
		}
		if file.Path, err = filepath.Rel(root, path); err != nil {
			return err
		}
		files = append(files, file)
		return nil
	})
	return files, err
}

func read(path string, entry fs.DirEntry) (File, error) {
	info, err := entry.Info()
	if err != nil {
		return File{}, err
	}
	file := File{Mode: int64(info.Mode().Perm())}
	switch {
	case entry.Type()&fs.ModeSymlink != 0:
		file.Link, err = os.Readlink(path)
	case !entry.IsDir():
		file.Body, err = os.ReadFile(path)
		if file.Body == nil {
			file.Body = []byte{} // an empty file, not a folder
		}
	}
	return file, err
}
