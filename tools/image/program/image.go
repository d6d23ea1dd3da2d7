package program

import "github.com/templater-dev/templater/tools/image/archive"

// Image returns the image with the program for one platform, which must be a Linux platform.
func Image(platform Platform, body []byte) archive.Image {
	return archive.Image{
		Architecture: platform.Architecture,
		Entrypoint:   []string{"/templater"},
		User:         "65532:65532",
		Labels:       Labels,
		Files:        []archive.File{{Path: "templater", Mode: 0o755, Body: body}},
	}
}

// Labels are the labels of every image.
var Labels = map[string]string{
	"org.opencontainers.image.title":       "templater",
	"org.opencontainers.image.description": "Operators from templates",
	"org.opencontainers.image.licenses":    "Apache-2.0",
}
