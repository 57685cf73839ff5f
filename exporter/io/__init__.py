"""Samples the kernel's I/O and CPU counters every second and judges each interval.

The path of one second, in order:

1. `sampler` reads /proc/diskstats, /proc/stat and /proc/pressure/io (a sample).
2. `interval` computes the difference of two samples.
3. `verdict` decides whether the device was saturated and what the bottleneck was. It compares the
   await with the device's own `baseline`. `write_falloff` detects throughput drops during writes,
   and `slowdown` explains them.
4. `activity` adds the results to the device's `accumulators`. The collectors of `exporter.metrics`
   read them from there.

`survey` refreshes the topology and tells the sampler the `drive_class` of each device.

`interval`, `verdict`, `write_falloff`, `slowdown`, `baseline.Baseline` and `drive_class` are pure:
values in, values out. They use no files, no clock and no logs; the caller passes the time in. Only
`sampler` and `survey` read files.
"""
