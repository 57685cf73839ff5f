"""The commands `enable-probes` and `disable-probes`: everything that scheduled probes need."""
