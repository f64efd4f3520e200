"""Goes through the tracks of a plan, side by side, until enough has struck."""

import random
import threading
import time
import traceback

from . import faults
from .missed import Missed
from .plan import FIRST


class Tracks:
    """The faults of one run."""

    def __init__(self, world, plan, wanted, patience, hopeless):
        self._world = world
        self._plan = plan
        self._timeline = world.timeline
        self._hopeless = hopeless
        self._wanted = wanted
        self._end = time.monotonic() + patience
        self._beside = []

    def run(self):
        """All planned faults, and more while fewer than wanted have struck; gives up when patience ends or
        nothing can strike any more."""
        threads = [threading.Thread(target=self._track, args=(steps,), daemon=True) for steps in self._plan.tracks()]
        for thread in threads:
            thread.start()
        for thread in [*threads, *self._beside]:
            thread.join()
        for thread in self._beside:
            thread.join()

    def _enough(self, done):
        if self._hopeless() or time.monotonic() > self._end:
            return True
        return done >= FIRST and sum(self._timeline.strikes.values()) >= self._wanted

    def _track(self, steps):
        for done, step in enumerate(steps):
            if self._enough(done):
                return
            time.sleep(step.after)
            self._world.wait_for_brokers()
            if step.kind in faults.BESIDE:
                thread = threading.Thread(target=self._strike, args=(step,), daemon=True)
                self._beside.append(thread)
                thread.start()
                time.sleep(0.5)
            else:
                self._strike(step)

    def _strike(self, step):
        try:
            hit = faults.by_name(step.kind)(self._world, random.Random(step.dice))
            if hit:
                self._timeline.strike(step.kind, hit)
        except Missed as missed:
            self._timeline.missed(step.kind, str(missed))
        except Exception as error:
            self._world.finding(f"the harness failed in {step.kind}: {error!r}\n{traceback.format_exc()}")
