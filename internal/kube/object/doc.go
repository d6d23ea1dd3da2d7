// Package object holds objects as the JSON text that the API server sent, scanned once for frequently used fields.
package object
