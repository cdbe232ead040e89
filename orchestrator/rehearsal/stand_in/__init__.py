"""What stands in for vLLM 0.16.0 where there is no GPU?

These modules run by themselves inside a rehearsal's engine environment (standard library only, imports of one another alone). They
start the processes that the release starts, under its names, read a checkpoint's config as it does, print its texts
in its order, and serve its API. Times are this stand-in's own.

STAND_IN_PACE stretches every pause (1 is told at a reading pace, 0 takes none); STAND_IN_FAULT chooses another ending
(`faults.yaml` of the rehearsal lists them); STAND_IN_CARDS is the folder where cards note who holds their memory.
"""

VERSION = "0.16.0"
