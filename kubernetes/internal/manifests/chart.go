// Package manifests supports tests of the Helm chart and of the manifests for kustomize. The
// chart is the source: config/operator, config/agent and config/components are generated from it
// with
//
//	go test ./internal/manifests -run Generated -update
//
// The chart in turn contains the roles of config/rbac and the CRDs of config/crd.
package manifests

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/roce-fabric/roce-fabric/kubernetes/internal/rig"
)

// Chart renders the chart for a namespace, as helm does.
func Chart(namespace string, values map[string]any) (out []*unstructured.Unstructured, _ error) {
	c, err := loader.LoadDir(filepath.Join(rig.Root(), "chart"))
	if err != nil {
		return nil, err
	}
	caps := common.DefaultCapabilities.Copy()
	caps.KubeVersion = common.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}
	all, err := util.ToRenderValues(c, values, common.ReleaseOptions{Name: "test", Namespace: namespace, IsInstall: true}, caps)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) != ".yaml" {
			continue
		}
		some, err := Decode(files[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, some...)
	}
	return out, nil
}

// Kustomize builds a folder, as kustomize does.
func Kustomize(dir string) ([]*unstructured.Unstructured, error) {
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	text, err := m.AsYaml()
	if err != nil {
		return nil, err
	}
	return Decode(string(text))
}

// Decode parses the objects of a YAML or JSON text.
func Decode(text string) (out []*unstructured.Unstructured, _ error) {
	for d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := d.Decode(&o.Object); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		if o.Object != nil {
			out = append(out, o)
		}
	}
}
