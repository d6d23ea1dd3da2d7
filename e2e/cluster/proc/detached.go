package proc

import (
	"fmt"
	"os"
	"os/exec"
)

// Place defines where to record a process that outlives its parent.
type Place struct {
	Log  string // path of its output, which is truncated
	Dir  string // folder of the records, as Recorded reads them
	Name string // of the record
}

// StartDetached starts and records a process that outlives us and inherits none of our files.
func StartDetached(command *exec.Cmd, place Place) error {
	log, err := os.Create(place.Log)
	if err != nil {
		return err
	}
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	command.Dir = "/"
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", place.Name, err)
	}
	recorded := Record(place.Dir, place.Name, command.Process.Pid)
	go command.Wait() //nolint:errcheck // it only must not stay a zombie while we live
	return recorded
}
