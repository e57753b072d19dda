"""A list owns once per place, so the same object can be in it twice."""

import engine

x = engine.zeros(1000)

shelf = [x, x]
