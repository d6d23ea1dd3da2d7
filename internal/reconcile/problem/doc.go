// Package problem turns errors into text that holds no value of an object, and says when it is worth trying again.
//
// What the API server answers quotes values, and so do names and keys that came from data: nothing of that is
// told to users but through this package.
package problem
