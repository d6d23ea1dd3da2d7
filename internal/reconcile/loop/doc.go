// Package loop finds parents whose passes write again and again although nothing calls for it, slows them down, and says whose
// doing it is.
package loop
