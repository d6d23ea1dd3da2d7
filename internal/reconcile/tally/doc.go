// Package tally adds up how the parents of a TemplateController fare.
package tally
