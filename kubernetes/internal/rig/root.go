package rig

// Root is the folder of the module, from the folder of one of its packages.
func Root() string { return root() }
