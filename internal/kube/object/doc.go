// Package object holds objects as the JSON text that the API server sent, scanned once for the fields that are asked for all the time.
package object
