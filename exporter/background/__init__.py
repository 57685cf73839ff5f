"""What has its own clock: the per-second sampler, the survey of devices, the kept state."""
