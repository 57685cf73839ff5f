"""The commands `enable-probes` and `disable-probes`, which configure scheduled probes."""
