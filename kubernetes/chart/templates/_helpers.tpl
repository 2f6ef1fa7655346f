{{- define "image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end }}

{{- define "selector" -}}
app.kubernetes.io/name: {{ . }}
{{- end }}

{{- define "labels" -}}
{{ include "selector" . }}
app.kubernetes.io/part-of: roce-fabric
{{- end }}

{{- define "namespaces" -}}
{{ .Values.operator.watchNamespaces | default (list .Release.Namespace) | toJson }}
{{- end }}

{{- define "webhook" -}}
{{- if and .Values.operator.enabled (ne .Values.webhook.certificate "none") }}true{{ end -}}
{{- end }}
