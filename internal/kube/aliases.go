package kube

import "github.com/templater-dev/templater/internal/kube/request"

type (
	// Location is request.Location.
	Location = request.Location
	// Metadata is request.Metadata.
	Metadata = request.Metadata
	// Deletion is request.Deletion.
	Deletion = request.Deletion
	// Holder is request.Holder.
	Holder = request.Holder
	// Right is request.Right.
	Right = request.Right
	// LogOptions is request.LogOptions.
	LogOptions = request.LogOptions
	// Announcement is request.Announcement.
	Announcement = request.Announcement
	// Observer is request.Observer.
	Observer = request.Observer
)

var (
	// HolderOf is request.HolderOf.
	HolderOf = request.HolderOf
	// EventNamespace is request.EventNamespace.
	EventNamespace = request.EventNamespace
	// WithObserver is request.WithObserver.
	WithObserver = request.WithObserver
)
