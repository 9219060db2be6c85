"""Long work and who may do it when: jobs in other processes, one queue for the machine, turns."""

from blocks.work.queue import Queue
from blocks.work.turns import Turns

__all__ = ["Queue", "Turns"]
