package operator

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// Internals used by tests outside the package.
var (
	CheckPack  = checkPack
	GitObjects = uint64(gitObjects)
)

func Clone(ctx context.Context, c client.Reader, f *v1alpha1.Fabric, dir string) (path, revision string, _ error) {
	return (&Options{}).clone(ctx, c, f, dir)
}

// IsIntentError reports whether only the author of a Fabric can correct an error.
func IsIntentError(err error) bool { return errors.As(err, new(*intentError)) }

// GitSaid returns the error reported for a repository's error with the given text.
func GitSaid(text, dir string, keys map[string][]byte) error {
	return (&gitLogin{dir: dir, keys: keys}).withoutSecrets(wrong("%s", text))
}
