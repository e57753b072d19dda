"""A classifier whose training loop keeps every loss with its graph."""

import torch
from torch import nn

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.head = nn.Linear(64, 4)

    def forward(self, x):
        return self.head(self.body(x))


def train(model, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    history = []
    for epoch in range(epochs):
        x = torch.randn(128, 16)
        y = torch.randint(0, 4, (128,))
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        penalty = sum((p * p).sum() for p in model.parameters())
        total = loss + 1e-4 * penalty
        total.backward()
        optimizer.step()
        history.append(model(x).logsumexp(1).mean())
        print(f"epoch {epoch}: {loss.item():.4f}")
    return history


model = Classifier()
history = train(model, 4)
print("mean of the history:", float(sum(h.item() for h in history) / len(history)))
