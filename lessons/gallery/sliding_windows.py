"""A moving average and a moving maximum: windows over a series, without copying it."""

import engine

DAYS, WINDOW = 60, 6

engine.manual_seed(7)
trend = engine.linspace(8.0, 20.0, DAYS)
noise = engine.randn(DAYS) * 2.0
temperature = trend + noise

# Window i shows the days i, i + 1, ..., i + 5. Both strides are 1: neighbours overlap in five days.
windows = temperature.unfold(0, WINDOW, 1)
stored = temperature.untyped_storage().nbytes()
visible_bytes = windows.numel() * windows.element_size()
print("windows", tuple(windows.shape), "strides", windows.stride())
print(f"{visible_bytes} bytes shown, {stored} bytes stored")

average = windows.mean(1)
warmest = windows.max(1).values

print("\nday  temperature  average  warmest")
for day in range(WINDOW - 1, DAYS, 9):
    i = day - WINDOW + 1
    print(
        f"{day:3}  {temperature[day].item():11.1f}  {average[i].item():7.1f}"
        f"  {warmest[i].item():7.1f}"
    )

# The average wanders less from day to day than what it averages.
jumps = (temperature[1:] - temperature[:-1]).abs().mean()
smooth_jumps = (average[1:] - average[:-1]).abs().mean()
print(f"\nmean jump from day to day: {jumps.item():.2f}, of the average {smooth_jumps.item():.2f}")

# Whoever writes into the series writes into six windows at once.
temperature[30] = 100.0
print("windows that see the day 30:", int((windows == 100.0).any(1).sum().item()))

# Weeks that do not overlap are windows as well: only the step is another.
weeks = temperature[:56].unfold(0, 7, 7)
print("weeks", tuple(weeks.shape), "strides", weeks.stride(), "- the same as view(8, 7)")
print("warmest day of each week:", weeks.argmax(1).tolist())
