"""Samples the kernel's I/O and CPU counters every second and finds the bottleneck of each interval.

A sample is one reading of the counters. An interval is the difference of two samples. Await is the
mean time of a request, including the time that it waits in the queue.

These modules process one second, in this order:

1. `sampler` reads /proc/diskstats, /proc/stat and /proc/pressure/io.
2. `interval` computes the difference of two samples.
3. `verdict` decides whether the device was saturated and what the bottleneck was. It compares the
   await with the device's own `baseline`. `hangs` detects that requests do not complete, and
   `block_completions` finds the CPUs that complete requests. `volume_models`
   recognises volumes, and `throttling` detects that a volume is throttled. `write_falloff` detects
   throughput drops during writes, `falloff_tracker` counts them, and `slowdown` determines their
   cause.
4. `activity` adds the results to the device's `accumulators`, such as histograms. The collectors of
   `exporter.metrics` read them from there.

`survey` reads the topology, that is the block devices and what is mounted on them. It passes the
sampler a `drive.Drive` for each device.

`interval`, `verdict`, the modules of `hangs`, `block_completions`, `volume_models`, `throttling`,
`write_falloff`, `falloff_tracker`, `slowdown`, `baseline.Baseline` and `drive` use no files,
no clock and no logs. The caller passes the time as an argument. Only `sampler` and `survey` read
files.
"""
