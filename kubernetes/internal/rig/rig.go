// Package rig starts a real control plane for tests: kube-apiserver, which `.ci/run kubernetes`
// builds from its module, and etcd. Neither is simulated.
//
// There is no kubelet and no controller: Pods never run, and dependents of deleted objects are
// not garbage-collected.
package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// variable is the environment variable with the path of kube-apiserver.
const variable = "ROCE_FABRIC_APISERVER"

// Rig is a control plane with the CRDs of the operator.
type Rig struct {
	*envtest.Environment
	Config *rest.Config
	Client client.Client
	Scheme *runtime.Scheme
}

var (
	mu  sync.Mutex
	one *Rig
)

// Start returns the control plane of the test program, starting it on the first call. It skips
// the test if there is no kube-apiserver. [Stop] stops the control plane.
func Start(t testing.TB) *Rig {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	if one == nil {
		r, err := start(t)
		if err != nil {
			t.Fatal(err)
		}
		one = r
	}
	return one
}

func start(t testing.TB) (*Rig, error) {
	api := os.Getenv(variable)
	if api == "" {
		t.Skip(variable + " names no kube-apiserver: .ci/run kubernetes builds one")
	}
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		return nil, fmt.Errorf("no etcd (Debian package etcd-server): %w", err)
	}
	s := Scheme()
	e := &envtest.Environment{Scheme: s, CRDDirectoryPaths: []string{filepath.Join(root(), "config", "crd")}, ErrorIfCRDPathMissing: true}
	e.ControlPlaneStartTimeout = 3 * time.Minute // a busy machine is slow
	e.ControlPlane.GetAPIServer().Path = api
	e.ControlPlane.Etcd = &envtest.Etcd{Path: etcd}
	e.ControlPlane.Etcd.Configure().Append("unsafe-no-fsync", "true")
	// The ServiceAccount admission plugin requires a controller that is not running.
	e.ControlPlane.GetAPIServer().Configure().Append("disable-admission-plugins", "ServiceAccount")
	cfg, err := e.Start()
	if err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	cfg.QPS = -1 // disables rate limiting in the client
	r := &Rig{e, cfg, nil, s}
	if r.Client, err = client.New(cfg, client.Options{Scheme: s}); err == nil {
		err = addRoles(t.Context(), r.Client)
	}
	if err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return r, nil
}

// Scheme returns a scheme with the kinds that the operator uses.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := scheme.AddToScheme(s); err != nil {
		panic(err)
	}
	if err := v1alpha1.AddToScheme(s); err != nil {
		panic(err)
	}
	return s
}

// root returns the folder of the module.
func root() string {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "config", "crd")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return "."
}

// Stop stops the control plane, and returns the exit status of a test program that would
// otherwise end with code.
func Stop(code int) int {
	mu.Lock()
	defer mu.Unlock()
	if one != nil {
		if err := one.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the control plane:", err)
			code = max(code, 1)
		}
	}
	return code
}

// Namespace creates a namespace for a test.
func (r *Rig) Namespace(t testing.TB) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := r.Client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// As returns the configuration for a user who has one of the roles of config/rbac in a
// namespace.
func (r *Rig) As(t testing.TB, role, namespace string) *rest.Config {
	t.Helper()
	name := role + "-of-" + namespace
	u, err := r.AddUser(envtest.User{Name: name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}},
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := u.Config()
	cfg.QPS = -1
	return cfg
}

// addRoles creates the roles of config/rbac.
func addRoles(ctx context.Context, c client.Client) error {
	f, err := os.Open(filepath.Join(root(), "config", "rbac", "roles.yaml"))
	if err != nil {
		return err
	}
	defer f.Close() // a file that is only read
	for d := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		role := &rbacv1.ClusterRole{}
		if err := d.Decode(role); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := c.Create(ctx, role); err != nil {
			return err
		}
	}
}

// Codecs returns a serializer for a client that does not convert responses.
func Codecs(s *runtime.Scheme) runtime.NegotiatedSerializer {
	return serializer.NewCodecFactory(s).WithoutConversion()
}

// Kubeconfig writes a kubeconfig file for a user of the API server and returns its path.
func Kubeconfig(t testing.TB, c *rest.Config) string {
	t.Helper()
	k := clientcmdapi.NewConfig()
	k.Clusters["rig"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData}
	k.AuthInfos["user"] = &clientcmdapi.AuthInfo{ClientCertificateData: c.CertData, ClientKeyData: c.KeyData}
	k.Contexts["rig"] = &clientcmdapi.Context{Cluster: "rig", AuthInfo: "user"}
	k.CurrentContext = "rig"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*k, path); err != nil {
		t.Fatal(err)
	}
	return path
}
