"""The list of all classes of scenes."""

from tests.scenes import baselines, bottlenecks, falloffs, stalls, wear
from tests.scenes.table import SceneClass

CLASSES: list[SceneClass] = [
    *bottlenecks.CLASSES,
    *stalls.CLASSES,
    *falloffs.CLASSES,
    *baselines.CLASSES,
    *wear.CLASSES,
]
