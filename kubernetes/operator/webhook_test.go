package operator_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/operator"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// warned collects the warnings in responses.
type warned struct{ all []string }

func (w *warned) HandleWarningHeader(_ int, _, text string) { w.all = append(w.all, text) }

// The API server calls the webhook, and rejects a Fabric whose intent has an error, with its
// line and column.
func TestWebhook(t *testing.T) {
	b := newBench(t)
	conf, ca, err := sim.NewTLS()
	if err != nil {
		t.Fatal(err)
	}
	h, err := admission.StandaloneWebhook(&webhook.Admission{Handler: operator.NewValidator(b.r.Scheme)}, admission.StandaloneOptions{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.TLS = conf
	server.StartTLS()
	t.Cleanup(server.Close)
	url := server.URL + operator.WebhookPath
	fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: b.ns}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
		Name: "fabric.roce-fabric.io", FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": b.ns}},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"v1alpha1"}, Resources: []string{"fabrics"}},
		}},
	}}}
	b.create(hook)
	t.Cleanup(func() {
		if err := b.r.Client.Delete(context.Background(), hook); err != nil {
			t.Error(err)
		}
	})
	good := text(2, nowhere)
	made := func(text string) *v1alpha1.Fabric {
		return &v1alpha1.Fabric{ObjectMeta: metav1.ObjectMeta{Namespace: b.ns, GenerateName: "f-"}, Spec: v1alpha1.FabricSpec{Intent: v1alpha1.IntentSource{Inline: text}}}
	}
	bad := strings.Replace(good, "classes:", "clases:", 1)
	// The API server needs some time to use the webhook.
	probe := &v1alpha1.Fabric{ObjectMeta: b.meta("probe"), Spec: v1alpha1.FabricSpec{Intent: v1alpha1.IntentSource{Inline: good}}}
	b.create(probe)
	b.until(probe, "the webhook is asked", func() bool {
		return b.r.Client.Create(t.Context(), made(bad), client.DryRunAll) != nil
	})
	for _, c := range []struct{ from, to, want string }{
		{"classes:", "clases:", `spec.intent.inline:4:1: unknown key "clases" (did you mean "classes"?)`},
		{"cable: 40m", "cable: 40", "spec.intent.inline:15:"},
		{"password: env:FABRIC_PASSWORD", "password: keyring:a/b", "spec.intent.inline:18:51: the operator has no keyring"},
		{"credentials:\n", "rollout: {approval: {command: [sh, -c, id]}}\ncredentials:\n", "the operator does not run commands from an intent"},
	} {
		err := b.r.Client.Create(t.Context(), made(strings.Replace(good, c.from, c.to, 1)))
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.to, err, c.want)
		}
	}
	if err := b.r.Client.Get(t.Context(), client.ObjectKeyFromObject(probe), probe); err != nil {
		t.Fatal(err)
	}
	probe.Spec.Intent.Inline = bad
	if err := b.r.Client.Update(t.Context(), probe); !apierrors.IsForbidden(err) {
		t.Errorf("a change for the worse: %v", err)
	}
	// A warning of the intent is returned as a warning.
	w := &warned{}
	cfg := rest.CopyConfig(b.r.Config)
	cfg.WarningHandler = w
	c, err := client.New(cfg, client.Options{Scheme: b.r.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), made(strings.Replace(good, "min: 150KB, max: 1500KB", "min: 20MB, max: 40MB", 1))); err != nil {
		t.Fatal(err)
	}
	if len(w.all) == 0 || !strings.HasPrefix(w.all[0], "spec.intent.inline:") || !strings.Contains(strings.Join(w.all, "\n"), "ECN-") {
		t.Errorf("the warnings are %q", w.all)
	}
}
