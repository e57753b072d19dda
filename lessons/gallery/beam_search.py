"""The best sentences of a tiny language, by beam search: lists, loops and branches in compiled code."""

import engine

LETTERS = " helo"

# The score of each letter after each letter: logarithms of made-up frequencies.
after = engine.tensor(
    [
        [0.05, 0.40, 0.45, 0.05, 0.05],
        [0.02, 0.02, 0.02, 0.02, 0.92],
        [0.20, 0.20, 0.20, 0.20, 0.20],
        [0.02, 0.02, 0.03, 0.45, 0.48],
        [0.75, 0.10, 0.05, 0.05, 0.05],
    ]
).log()


@engine.jit.script
def beam_search(after, width: int, length: int) -> list[tuple[list[int], float]]:
    beams: list[tuple[list[int], float]] = [([0], 0.0)]
    for _ in range(length):
        grown: list[tuple[list[int], float]] = []
        for letters, score in beams:
            row = after[letters[-1]]
            for letter in range(row.size(0)):
                grown.append((letters + [letter], score + float(row[letter])))  # noqa: RUF005
        beams = []
        while len(beams) < width and len(grown) > 0:
            best = 0
            for i in range(len(grown)):
                if grown[i][1] > grown[best][1]:
                    best = i
            beams.append(grown.pop(best))
    return beams


for width in (1, 3):
    print(f"beams of {width}")
    for letters, score in beam_search(after, width, 6):
        text = "".join(LETTERS[letter] for letter in letters)
        print(f"   {text!r} {score:.3f}")

print("greedy is not always best: the first letter that looks best may lead nowhere")
for length in (2, 4, 6):
    narrow = beam_search(after, 1, length)[0][1]
    wide = beam_search(after, 4, length)[0][1]
    print(f"   {length} letters: {narrow:.3f} against {wide:.3f}")
