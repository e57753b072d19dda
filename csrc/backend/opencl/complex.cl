// Functions for expressions of complex numbers, which are vectors of two.
T complex_mul(T a, T b) { return (T)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
// (a + bi) / (c + di) divides by the larger part first, so that the squares of large numbers do not overflow.
T complex_div(T a, T b) {
  if (b.x == 0 && b.y == 0) return a / fabs(b.x);
  if (fabs(b.x) >= fabs(b.y)) {
    const R ratio = b.y / b.x, scale = b.x + b.y * ratio;
    return (T)((a.x + a.y * ratio) / scale, (a.y - a.x * ratio) / scale);
  }
  const R ratio = b.x / b.y, scale = b.x * ratio + b.y;
  return (T)((a.x * ratio + a.y) / scale, (a.y * ratio - a.x) / scale);
}
