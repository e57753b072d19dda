"""Give the tensor x exactly three owners: the name x, and two places inside shelf."""

import engine

x = engine.zeros(1000)

# TODO: something that holds x twice.
shelf = None
