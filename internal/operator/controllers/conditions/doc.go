// Package conditions says in words how a TemplateController fares: the conditions of its status.
package conditions
