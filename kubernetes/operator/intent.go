package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// inlineName is shown instead of a file name in places of an inline intent.
const inlineName = "spec.intent.inline"

// loaded is a loaded intent. The caller must call Close.
type loaded struct {
	*fleet.Fabric
	revision string // Git commit
	dir      string // private folder with the files of the intent and its credentials
	policy   *secret.Policy
	accepts  []string // devices whose identity may differ
}

func (l *loaded) Close() error { return os.RemoveAll(l.dir) }

// intentError is a fault of the intent or of the reference to it, which only its author can
// correct.
type intentError struct{ text string }

func (e *intentError) Error() string { return e.text }

func wrong(format string, a ...any) error { return &intentError{fmt.Sprintf(format, a...)} }

// load reads the intent of a fabric and stores its credentials.
func (o *Options) load(ctx context.Context, c client.Reader, f *v1alpha1.Fabric) (_ *loaded, err error) {
	dir, err := os.MkdirTemp(o.Dir, "fabric-")
	if err != nil {
		return nil, err
	}
	l := &loaded{dir: dir, accepts: f.Spec.AcceptIdentity}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	path, revision, err := o.fetch(ctx, c, f, filepath.Join(dir, "intent"))
	if err != nil {
		return nil, err
	}
	l.revision = revision
	if path == "" {
		l.Fabric, err = loadText(ctx, f.Spec.Intent.Inline)
	} else {
		l.Fabric, err = fleet.Load(ctx, path, fleet.LoadOptions{Take: fleet.TakeAll, Below: filepath.Join(dir, "intent")})
	}
	if err != nil {
		return nil, l.faults(err)
	}
	if err := l.resolve(ctx, c, f); err != nil {
		return nil, l.faults(err)
	}
	return l, nil
}

// loadText reads an inline intent.
func loadText(ctx context.Context, text string) (*fleet.Fabric, error) {
	return fleet.Load(ctx, "-", fleet.LoadOptions{Stdin: strings.NewReader(text), Name: inlineName, Take: fleet.TakeAll})
}

// faults converts an error about the intent to an intentError with one fault per line, without
// the folder of its files. It returns other errors unchanged.
func (l *loaded) faults(err error) error {
	if many := (intent.Errors)(nil); errors.As(err, &many) {
		return &intentError{l.withoutFolder(faultText(many))}
	}
	if fault := (*intentError)(nil); errors.As(err, &fault) {
		return &intentError{l.withoutFolder(fault.text)}
	}
	if option := (*fleet.OptionError)(nil); errors.As(err, &option) {
		return &intentError{l.withoutFolder(err.Error())}
	}
	return err
}

// faultText formats faults with their hints, one per line.
func faultText(es intent.Errors) string {
	var lines []string
	for _, e := range es {
		line := e.Error()
		if e.Hint != "" {
			line += " (" + e.Hint + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// fetch writes the files of the intent to a folder and returns the path to load; "" for an
// inline intent.
func (o *Options) fetch(ctx context.Context, c client.Reader, f *v1alpha1.Fabric, dir string) (path, revision string, _ error) {
	switch src := f.Spec.Intent; {
	case src.ConfigMap != nil:
		return dir, "", writeConfigMap(ctx, c, types.NamespacedName{Namespace: f.Namespace, Name: src.ConfigMap.Name}, dir)
	case src.Git != nil:
		return o.clone(ctx, c, f, dir)
	}
	return "", "", nil
}

func writeConfigMap(ctx context.Context, c client.Reader, key types.NamespacedName, dir string) error {
	var m corev1.ConfigMap
	if err := c.Get(ctx, key, &m); err != nil {
		if apierrors.IsNotFound(err) {
			return wrong("spec.intent.configMap: there is no ConfigMap %s", key.Name)
		}
		return fmt.Errorf("read ConfigMap %s: %w", key.Name, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	some := false
	for _, name := range slices.Sorted(maps.Keys(m.Data)) {
		if ext := filepath.Ext(name); ext != ".yaml" && ext != ".yml" {
			continue
		}
		some = true
		// A key of a ConfigMap cannot contain a slash.
		if err := os.WriteFile(filepath.Join(dir, name), []byte(m.Data[name]), 0o600); err != nil {
			return err
		}
	}
	if !some {
		return wrong("ConfigMap %s has no key that ends in .yaml or .yml", key.Name)
	}
	return nil
}
