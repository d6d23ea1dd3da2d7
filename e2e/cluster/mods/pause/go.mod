module github.com/templater-dev/templater/e2e/cluster/mods/pause

go 1.26
