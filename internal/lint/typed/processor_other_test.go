//go:build !unix

package typed

import "time"

// spent returns nothing: only Unix tells.
func spent() time.Duration { return 0 }
