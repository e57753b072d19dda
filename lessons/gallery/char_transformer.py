"""A transformer learns a text letter by letter, and goes on writing from a beginning."""

import random

import engine

# A counting-out tale, made for this purpose: few words, much repetition.
TEXT = " ".join(
    f"the {animal} saw the {other} and the {other} saw the {animal}."
    for animal, other in (
        ("cat", "dog"), ("dog", "hen"), ("hen", "fox"), ("fox", "owl"), ("owl", "cat"),
        ("cat", "hen"), ("dog", "fox"), ("hen", "owl"), ("fox", "cat"), ("owl", "dog"),
    )
)  # fmt: skip
LETTERS = sorted(set(TEXT))
CONTEXT, WIDTH, HEADS, LAYERS, BATCH, STEPS = 24, 32, 2, 2, 12, 120


def network(nn):
    """Letters and places become vectors; in each block they look back at each other, then think."""

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
            self.out = nn.Linear(WIDTH, WIDTH)

        def forward(self, x):
            n, length, _ = x.shape
            split = self.qkv(x).view(n, length, 3, HEADS, WIDTH // HEADS)
            q, k, v = split.permute(2, 0, 3, 1, 4).unbind(0)
            scores = q @ k.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5
            later = scores.new_ones(length, length).triu(1).bool()
            seen = scores.masked_fill(later, float("-inf")).softmax(-1) @ v
            return self.out(seen.transpose(1, 2).reshape(n, length, WIDTH))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.attention = Attention()
            self.think = nn.Sequential(
                nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
            )

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.think(self.norm2(x))

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.letters = nn.Embedding(len(LETTERS), WIDTH)
            self.positions = nn.Embedding(CONTEXT, WIDTH)
            self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
            self.norm = nn.LayerNorm(WIDTH)
            self.head = nn.Linear(WIDTH, len(LETTERS))

        def forward(self, text):
            x = self.letters(text) + self.positions.weight[: text.shape[1]]
            return self.head(self.norm(self.blocks(x)))

    return Transformer()


def batch(engine, chance):
    """Pieces of the text, and the same moved on by one: at each place the letter to be guessed."""
    starts = [chance.randrange(len(TEXT) - CONTEXT) for _ in range(BATCH)]
    pieces = [[LETTERS.index(c) for c in TEXT[s : s + CONTEXT + 1]] for s in starts]
    both = engine.tensor(pieces)
    return both[:, :-1], both[:, 1:]


def train(engine, model):
    """AdamW; the loss of every step."""
    chance = random.Random(2)
    optimizer = engine.optim.AdamW(model.parameters(), lr=0.003)
    losses = []
    for _ in range(STEPS):
        text, following = batch(engine, chance)
        scores = model(text)
        loss = engine.nn.functional.cross_entropy(scores.flatten(0, 1), following.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def write(engine, model, beginning, count):
    """The beginning and `count` letters more, each the likeliest."""
    text = [LETTERS.index(c) for c in beginning]
    with engine.no_grad():
        for _ in range(count):
            scores = model(engine.tensor([text[-CONTEXT:]]))
            text.append(int(scores[0, -1].argmax().item()))
    return "".join(LETTERS[i] for i in text)


if __name__ == "__main__":
    engine.set_num_threads(1)  # these products are too small to be shared out
    engine.manual_seed(0)
    model = network(engine.nn)
    print(sum(p.numel() for p in model.parameters()), "parameters,", len(TEXT), "letters of text")
    print("before:", repr(write(engine, model, "the cat", 40)))
    losses = train(engine, model)
    for step in range(0, STEPS, 15):
        print(f"step {step:3}: loss {losses[step]:.4f} " + "=" * round(15 * losses[step]))
    print("after: ", repr(write(engine, model, "the cat", 40)))
