// Package model says what a cluster should contain: plain Go code that computes the children and the status of every
// parent from the parents and the TemplateControllers. It shares no code with the operator.
//
// It also generates the actions of a round from a seed. Everything in it is pure; nothing is safe for concurrent use.
package model
