// Package podlogs reads the logs of Pods for passes, which do not wait for them: a pass takes what is known, and its parent is
// looked at again when there is more.
package podlogs
