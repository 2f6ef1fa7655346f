package rig

// Root returns the folder of the module, from the folder of one of its packages.
func Root() string { return root() }
