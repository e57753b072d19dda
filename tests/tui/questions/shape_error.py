"""A convolutional network whose head was written for another image size."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3)
        self.conv2 = nn.Conv2d(4, 8, 3)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(8 * 5 * 5, 10)

    def forward(self, images):
        h = self.pool(torch.relu(self.conv1(images)))
        h = self.pool(torch.relu(self.conv2(h)))
        h = h.flatten(1)
        return self.fc(h)


net = Net()
batch = torch.rand(3, 1, 32, 32)
scores = net(batch)
print(scores.argmax(1))
