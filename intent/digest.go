package intent

// Digest returns the [Fabric.Hash] that the intent at a path would have: that of all files
// which [Load] reads, without a look at what they say.
func Digest(path string) (string, error) {
	files, err := readFiles(path, Options{})
	if err != nil {
		return "", err
	}
	return hashOf(files), nil
}
