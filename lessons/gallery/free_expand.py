"""All distances between two sets of points, from two expanded views that take no memory."""

import engine

N, M = 400, 300

engine.manual_seed(1)
points = engine.rand(N, 2)
stations = engine.rand(M, 2)

# Both become N x M x 2. The dimension that is not there gets the stride 0: the same numbers again.
left = points.unsqueeze(1).expand(N, M, 2)
right = stations.unsqueeze(0).expand(N, M, 2)

for name, tensor in (("left", left), ("right", right)):
    visible_bytes = tensor.numel() * tensor.element_size()
    stored_bytes = tensor.untyped_storage().nbytes()
    print(f"{name:6} shape {tuple(tensor.shape)}  strides {tensor.stride()}")
    print(
        f"       shows {visible_bytes:,} bytes, holds {stored_bytes:,}: {visible_bytes // stored_bytes} times less"
    )

# Only here memory is taken: the differences are new numbers.
difference = left - right
distance = (difference * difference).sum(2).sqrt()
nearest = distance.argmin(1)

print("\ndistances", tuple(distance.shape), f"from {distance.min().item():.4f}", end=" ")
print(f"to {distance.max().item():.4f}")
for i in range(3):
    station = int(nearest[i].item())
    x, y = points[i].tolist()
    print(f"point {i} at ({x:.2f}, {y:.2f}) is nearest to station {station}")

# Writing through an expanded tensor would write one cell many times, so it is refused.
try:
    left.add_(1.0)
except RuntimeError as error:
    print("\nadd_ on the expanded view:", str(error).splitlines()[0])

# A number against a table works in the same way, without being asked: broadcasting is expand.
centred = points - points.mean(0)
print("mean after centring:", [round(abs(value), 5) for value in centred.mean(0).tolist()])
