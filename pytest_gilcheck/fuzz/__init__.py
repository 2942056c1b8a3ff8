"""Does it survive? Runs a concurrent program in one schedule after another, and reports the first schedule that breaks it.

Each part imports only the parts above it and itself (tests/test_house.py holds this):

| part | question |
|---|---|
| `schedule` | which thread runs at which point; a schedule as a replay token |
| `program` | what is run: threads, setup, invariant |
| `plan` | how to search: the arguments of a check, validated |
| `steps/` | what is a visible step, and where C code iterates over shared containers |
| `running/` | how one schedule is run: the engine, its threads, and what replaces locks, clocks and threads meanwhile |
| `searching/` | which schedules are run: enumerated, sampled, and how a failing one is made smaller |
| `explaining/` | what happened in the failing run, and which pair of accesses decides |
| `result` | what a check returns |
| `stress/` | the same program with threads that run at the same time, in child processes |
| `sensitivity` | whether the program notices that a lock is missing |
| `failing` | a failing schedule minimised, classified, replayed and explained |
| `check` | one check, from the program to the result |
"""
