// Package lookup finds things by what tells objects apart: their namespace, their name, one of their labels. A cache files
// its objects in it, and whoever waits for objects files itself under those that it waits for.
package lookup
