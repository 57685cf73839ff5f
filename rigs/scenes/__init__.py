"""Scenes: simulated drives and kernels whose true state is known, and a score of our judgement.

`make scenes` runs several thousand scenes and prints a table; `test_scenes` runs a fixed part of
them. The scenes model the physics only, and import nothing of the rules that they judge:

- `drive`: how many requests a drive completes, and how long each takes.
- `kernel`: what the kernel counts of it, in `/proc/diskstats`, `stat`, `softirqs` and pressure.
- `host`: connects both to the real sampler, second by second.
- `loads`: the drives and workloads of which scenes consist.
- `bottlenecks`, `stalls`, `falloffs`, `baselines`, `wear`: the classes of scenes. The truth of a
  scene is the state of its simulated drive.
- `table`: the scores per class.
- `composition`: draws a drive, a writer and up to four disturbances, which `stations` and
  `composed_host` simulate. `composed_gaps`, `composed_full`, `composed_hangs` and
  `composed_softirqs` do the same for missing samples, baselines, hangs and saturated CPUs, and
  `composed_table` scores them by disturbance. `composed_requests` simulates the requests of slow
  and restless devices one by one.
"""
