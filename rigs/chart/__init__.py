"""Renders and validates the Helm chart: `make chart-check`. Builds helm and kubeconform."""
