package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// WebhookPath is the path of the admission webhook for Fabrics.
const WebhookPath = "/validate-fabric"

// maxWarnings is the number of warnings in a response, which kubectl prints.
const maxWarnings = 10

// validator admits a Fabric if its inline intent is valid. An intent from a ConfigMap or Git is
// read later; its faults are reported in the condition IntentValid.
type validator struct{ decoder admission.Decoder }

// NewValidator returns the handler for [WebhookPath].
func NewValidator(s *runtime.Scheme) admission.Handler {
	return &validator{admission.NewDecoder(s)}
}

// Handle implements [admission.Handler].
func (v *validator) Handle(ctx context.Context, req admission.Request) admission.Response {
	f := &v1alpha1.Fabric{}
	if err := v.decoder.Decode(req, f); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	text := f.Spec.Intent.Inline
	if text == "" || !f.DeletionTimestamp.IsZero() {
		return admission.Allowed("")
	}
	l := &loaded{}
	var err error
	if l.Fabric, err = loadText(ctx, text); err == nil {
		err = (&references{static: true}).rewriteAll(l.Fabric.Fabric())
	}
	var found []checks.Finding
	if err == nil {
		found, err = fleet.Check(ctx, l.Fabric, fleet.CheckOptions{})
	}
	if err = l.faults(err); err != nil {
		if fault := (*intentError)(nil); errors.As(err, &fault) {
			return admission.Denied("the intent has an error:\n" + fault.text)
		}
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.Allowed("").WithWarnings(warnings(found)...)
}

// warnings formats the unsuppressed errors and warnings among the findings.
func warnings(found []checks.Finding) (out []string) {
	more := 0
	for _, f := range found {
		switch {
		case f.Suppressed != nil || f.Severity == checks.Info:
		case len(out) == maxWarnings:
			more++
		default:
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s: %s: %s", f.Where, f.Severity, f.ID, f.Told())))
		}
	}
	if more > 0 {
		out = append(out, words.Count(more, "more finding"))
	}
	return out
}
