"""Compiled programs that Python calls: functions, modules, objects, futures, and calls back into Python."""
