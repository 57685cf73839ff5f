{{- define "ssd-exporter.name" -}}
{{- if contains "ssd-exporter" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-ssd-exporter" (.Release.Name | trunc 40 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "ssd-exporter.selector" -}}
app.kubernetes.io/name: ssd-exporter
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ssd-exporter.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
