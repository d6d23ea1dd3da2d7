//go:build !playground

package page

import "io/fs"

// built is nil: the page is several MiB, and the operator in a cluster has no use for it.
var built fs.FS
