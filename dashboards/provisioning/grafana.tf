# Dashboards for Terraform with the provider grafana/grafana. Set the address and the credentials of the
# provider with GRAFANA_URL and GRAFANA_AUTH.
terraform {
  required_providers {
    grafana = {
      source  = "grafana/grafana"
      version = ">= 3.0"
    }
  }
}

resource "grafana_folder" "ssd" {
  title = "SSD"
}

resource "grafana_dashboard" "ssd" {
  for_each    = toset(["drive", "fleet", "host-io", "mysql", "probes"])
  folder      = grafana_folder.ssd.uid
  config_json = file("${path.module}/../${each.key}.json")
  message     = "From ssd-exporter"
  overwrite   = true
}
