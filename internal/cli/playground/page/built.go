//go:build playground

package page

import (
	"embed"
	"io/fs"
)

//go:embed dist
var dist embed.FS

var built = func() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is well-formed
	}
	return files
}()
