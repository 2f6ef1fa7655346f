package intent

// Digest returns the [Fabric.Hash] of the intent at path: the hash of all files that [Load]
// reads, without parsing them.
func Digest(path string) (string, error) {
	files, err := readFiles(path, Options{})
	if err != nil {
		return "", err
	}
	return hashOf(files), nil
}
