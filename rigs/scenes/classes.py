"""The list of all classes of scenes."""

from rigs.scenes import baselines, bottlenecks, falloffs, stalls, volumes, wear
from rigs.scenes.table import SceneClass

CLASSES: list[SceneClass] = [
    *bottlenecks.CLASSES,
    *volumes.CLASSES,
    *stalls.CLASSES,
    *falloffs.CLASSES,
    *baselines.CLASSES,
    *wear.CLASSES,
]
