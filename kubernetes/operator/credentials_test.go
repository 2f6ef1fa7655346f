package operator

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// oneSecret is a reader that returns one Secret.
type oneSecret struct {
	client.Reader
	s corev1.Secret
}

func (o oneSecret) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	o.s.DeepCopyInto(into.(*corev1.Secret))
	return nil
}

// The owner of a Secret decides where its keys may be sent.
func TestAddressesOfASecret(t *testing.T) {
	const text = `apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes: {rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: auto}, default: {priority: 0, dscp: rest, bandwidth: 40%}}
switches: {leaf1: {os: sonic, address: "192.0.2.1:8080"}}
credentials: {switches: {username: env:FABRIC_USER, password: env:FABRIC_PASSWORD}}
rollout: {approval: {url: "https://change.example.net/roce"}}
`
	for to, want := range map[string]string{
		"":                             "",
		"192.0.2.0/24,*.example.net":   "",
		"198.51.100.0/24, example.org": "5:40: 192.0.2.1 is not an address",
		"192.0.2.0/24":                 "change.example.net is not an address",
		"192.0.2.0/33":                 "is not a network",
	} {
		c := oneSecret{s: corev1.Secret{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotationAddresses: to}}, Data: map[string][]byte{"FABRIC_USER": []byte("u"), "FABRIC_PASSWORD": []byte("p")}}}
		f, err := loadText(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		l := &loaded{Fabric: f, dir: t.TempDir()}
		err = l.resolve(t.Context(), c, &v1alpha1.Fabric{Spec: v1alpha1.FabricSpec{CredentialsSecret: &v1alpha1.LocalReference{Name: "login"}}})
		if (want == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), want) || !errors.As(err, new(*intentError))) {
			t.Errorf("%q: %v", to, err)
		}
		if err == nil {
			// Only the keys that were put in place may be used.
			a := (&Options{}).withDefaults().access(l)
			if err := a.Permit(f.Switches, nil); err != nil {
				t.Error(err)
			}
			f.Switches[0].Access.Password.V = "file:/var/run/secrets/kubernetes.io/serviceaccount/token"
			if a.Permit(f.Switches, nil) == nil {
				t.Error("the operator's own token is allowed")
			}
		}
	}
}
