// Package object holds objects of the API server in packed form: as the JSON
// text that the server sent, without what nobody reads, and with an eye on
// the few fields that are asked for all the time.
//
// An Object takes about the memory of its own text, costs one scan to make and is
// decoded only where a template or kstatus reads it. Serializer has client-go
// make Objects straight from responses and watch events.
package object
