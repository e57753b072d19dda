"""An RNN that carries its state from chunk to chunk; truncated backpropagation."""

import torch
from torch import nn

torch.manual_seed(2)
cell = nn.RNNCell(3, 6)
readout = nn.Linear(6, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *readout.parameters()], lr=0.1)
series = torch.sin(torch.arange(0, 12.0, 0.5)).reshape(2, 4, 1, 3)

state = torch.zeros(1, 6)
for chunk in series:
    state = state.detach()
    for step in chunk:
        state = cell(step, state)
    prediction = readout(state)
    error = prediction - chunk[-1].mean()
    loss = (error * error).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("state:", state.grad, "weight:", float(readout.weight.grad.norm()))
