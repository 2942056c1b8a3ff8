"""Running a program's threads one at a time, in a given schedule."""
