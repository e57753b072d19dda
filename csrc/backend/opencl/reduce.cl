// Reductions: a fold over some dimensions of a tensor, for each index of the others.
//
// One of FOLD_SUM, FOLD_MEAN... is defined. It selects the state of the fold, the functions that add an element and
// merge two states, and the results. ACC: the compute type, double if the device has it. K dimensions remain and M are
// folded; both are indexed in row-major order. If there are few results, each is folded in slices, and a second kernel
// merges the states of the slices.

typedef struct {
  long kept[K];          // sizes
  long kept_self[K];     // strides in self
  long kept_out[K];      // and in the results
  long folded[M];        // sizes
  long folded_self[M];   // strides in self
} Walk;

#ifdef A_IS_COMPLEX
#define TAKEN(element) (ACC)((element).x, (element).y)
#else
#define TAKEN(element) (ACC)(element)
#endif

#if defined(FOLD_SUM) || defined(FOLD_MEAN) || defined(FOLD_NANSUM)
typedef ACC State;
State fold_init(void) { return (ACC)0; }
void fold_merge(State *s, State other) { *s += other; }
#ifdef FOLD_NANSUM
void fold_take(State *s, ACC x, long i) { *s += x == x ? x : (ACC)0; }
#else
void fold_take(State *s, ACC x, long i) { *s += x; }
#endif
#ifdef FOLD_MEAN
#define FIRST_RESULT(s, n) ((s) / (ACC_PART)(n))
#else
#define FIRST_RESULT(s, n) (s)
#endif

#elif defined(FOLD_NANMEAN)
typedef struct { ACC sum; long n; } State;
State fold_init(void) { return (State){0, 0}; }
void fold_take(State *s, ACC x, long i) {
  if (x == x) s->sum += x, ++s->n;
}
void fold_merge(State *s, State other) { s->sum += other.sum, s->n += other.n; }
#define FIRST_RESULT(s, n) ((s).sum / (s).n)

#elif defined(FOLD_PROD)
typedef ACC State;
State fold_init(void) { return 1; }
void fold_take(State *s, ACC x, long i) { *s *= x; }
void fold_merge(State *s, State other) { *s *= other; }
#define FIRST_RESULT(s, n) (s)

#elif defined(FOLD_MAX) || defined(FOLD_MIN)
// With a NaN among the elements, the result is NaN.
typedef ACC State;
#ifdef FOLD_MAX
State fold_init(void) { return MIN_VALUE; }
void fold_take(State *s, ACC x, long i) { *s = x > *s || x != x ? x : *s; }
#else
State fold_init(void) { return MAX_VALUE; }
void fold_take(State *s, ACC x, long i) { *s = x < *s || x != x ? x : *s; }
#endif
void fold_merge(State *s, State other) { fold_take(s, other, 0); }
#define FIRST_RESULT(s, n) (s)

#elif defined(FOLD_EXTREMES)
typedef struct { ACC smallest, largest; } State;
State fold_init(void) { return (State){MAX_VALUE, MIN_VALUE}; }
void fold_take(State *s, ACC x, long i) {
  s->smallest = x < s->smallest || x != x ? x : s->smallest;
  s->largest = x > s->largest || x != x ? x : s->largest;
}
void fold_merge(State *s, State other) {
  s->smallest = other.smallest < s->smallest || other.smallest != other.smallest ? other.smallest : s->smallest;
  s->largest = other.largest > s->largest || other.largest != other.largest ? other.largest : s->largest;
}
#define FIRST_RESULT(s, n) ((s).smallest)
#define SECOND_RESULT(s, n) ((s).largest)

#elif defined(FOLD_ARGMAX) || defined(FOLD_ARGMIN)
// The first of equal elements, and the first NaN.
typedef struct { ACC value; long at; } State;
State fold_init(void) { return (State){0, -1}; }
#ifdef FOLD_ARGMAX
#define BETTER(a, b) ((a) > (b) || ((a) != (a) && (b) == (b)))
#else
#define BETTER(a, b) ((a) < (b) || ((a) != (a) && (b) == (b)))
#endif
void fold_take(State *s, ACC x, long i) {
  if (s->at < 0 || BETTER(x, s->value)) s->value = x, s->at = i;
}
void fold_merge(State *s, State other) {
  if (other.at < 0) return;
  const bool worse = BETTER(s->value, other.value);
  if (s->at < 0 || BETTER(other.value, s->value) || (!worse && other.at < s->at)) *s = other;
}
#ifdef INDEX_ALONE
#define FIRST_RESULT(s, n) ((s).at)
#else
#define FIRST_RESULT(s, n) ((s).value)
#define SECOND_RESULT(s, n) ((s).at)
#endif

#elif defined(FOLD_ANY) || defined(FOLD_ALL) || defined(FOLD_COUNT)
typedef long State;  // how many elements are not zero
State fold_init(void) { return 0; }
#ifdef A_IS_COMPLEX
void fold_take(State *s, ACC x, long i) { *s += x.x != 0 || x.y != 0; }
#else
void fold_take(State *s, ACC x, long i) { *s += x != 0; }
#endif
void fold_merge(State *s, State other) { *s += other; }
#if defined(FOLD_ANY)
#define FIRST_RESULT(s, n) ((s) != 0)
#elif defined(FOLD_ALL)
#define FIRST_RESULT(s, n) ((s) == (n))
#else
#define FIRST_RESULT(s, n) (s)
#endif

#elif defined(FOLD_MOMENTS)
// Sums of the distances to the first element, and of their squares: little is lost by cancellation.
#define SHIFTED 1
typedef struct { ACC sum, squares; } State;
State fold_init(void) { return (State){0, 0}; }
void fold_take(State *s, ACC x, long i) { s->sum += x, s->squares += x * x; }
void fold_merge(State *s, State other) { s->sum += other.sum, s->squares += other.squares; }
ACC variance(State s, long n, ACC correction) {
  const ACC rest = n - correction, spread = s.squares - s.sum * s.sum / n;
  // Not below 0, but NaN where it is.
  return (spread < 0 ? 0 : spread) / (rest > 0 ? rest : 0);
}
#ifdef ROOT
#define FIRST_RESULT(s, n) sqrt(variance(s, n, parameter))
#else
#define FIRST_RESULT(s, n) variance(s, n, parameter)
#endif
#define SECOND_RESULT(s, n) (shift + (s).sum / (n))

#elif defined(FOLD_NORM)
// NORM: 0, 1, 2, infinity (3), minus infinity (4), or any other power (5), which is `parameter`.
typedef ACC State;
#if NORM == 3
State fold_init(void) { return 0; }
void fold_merge(State *s, State x) { *s = x > *s || x != x ? x : *s; }
#elif NORM == 4
State fold_init(void) { return INFINITY; }
void fold_merge(State *s, State x) { *s = x < *s || x != x ? x : *s; }
#else
State fold_init(void) { return 0; }
void fold_merge(State *s, State x) { *s += x; }
#endif
#if NORM == 0
#define fold_take(s, x, i) fold_merge(s, (x) != 0)
#elif NORM == 2
#define fold_take(s, x, i) fold_merge(s, (x) * (x))
#elif NORM == 5
#define fold_take(s, x, i) fold_merge(s, pow(fabs(x), parameter))
#else
#define fold_take(s, x, i) fold_merge(s, fabs(x))
#endif
#if NORM == 2
#define FIRST_RESULT(s, n) sqrt(s)
#elif NORM == 5
#define FIRST_RESULT(s, n) pow(s, 1 / parameter)
#else
#define FIRST_RESULT(s, n) (s)
#endif

#elif defined(FOLD_LOGSUMEXP)
// The greatest element, and the sum of exp of the distances to it.
typedef struct { ACC greatest, sum; } State;
State fold_init(void) { return (State){-INFINITY, 0}; }
void fold_merge(State *s, State other) {
  if (other.sum == 0) return;
  if (s->sum == 0) {
    *s = other;
    return;
  }
  const ACC greatest = fmax(s->greatest, other.greatest);
  s->sum = (s->greatest == greatest ? s->sum : s->sum * exp(s->greatest - greatest)) +
           (other.greatest == greatest ? other.sum : other.sum * exp(other.greatest - greatest));
  s->greatest = greatest;
}
void fold_take(State *s, ACC x, long i) {
  if (x != -INFINITY) fold_merge(s, (State){x == x ? x : (ACC)0, x == x ? (ACC)1 : x});
}
#define FIRST_RESULT(s, n) ((s).sum == 0 ? -INFINITY : (s).greatest + log((s).sum))
#endif

#ifdef O_IS_COMPLEX
#define AS_O(v) (O)((v).x, (v).y)
#else
#define AS_O(v) (O)(v)
#endif

#ifdef SHIFTED
#define ELEMENT(p, place) (TAKEN(LOAD_A(p, place)) - shift)
#else
#define ELEMENT(p, place) TAKEN(LOAD_A(p, place))
#endif

// The offset of result `o` in the results, and of its first element in self.
long kept_place(const Walk *walk, long o, long *out) {
  long place = 0;
  *out = 0;
  for (int d = K - 1; d >= 0; --d) {
    const long i = d ? o % walk->kept[d] : o;
    if (d) o /= walk->kept[d];
    place += i * walk->kept_self[d];
    *out += i * walk->kept_out[d];
  }
  return place;
}

long folded_place(const Walk *walk, long j) {
  long place = 0;
  for (int d = M - 1; d >= 0; --d) {
    const long i = d ? j % walk->folded[d] : j;
    if (d) j /= walk->folded[d];
    place += i * walk->folded_self[d];
  }
  return place;
}

#define LANES 64

// Folds the elements [begin, end) of one result, `step` apart. For many neighbours LANES folds run side by side.
State fold_range(global A_STORED *self, const Walk *walk, long begin, long end, long step, ACC shift, ACC parameter) {
  State all = fold_init();
  const long inner = walk->folded_self[M - 1];
  if (M == 1 && step == 1 && inner == 1 && end - begin >= 2 * LANES) {
    State lanes[LANES];
    for (int k = 0; k < LANES; ++k) lanes[k] = fold_init();
    long j = begin;
    for (; j + LANES <= end; j += LANES) {
#pragma clang loop vectorize(enable)
      for (int k = 0; k < LANES; ++k) fold_take(&lanes[k], ELEMENT(self, j + k), j + k);
    }
    for (; j < end; ++j) fold_take(&all, ELEMENT(self, j), j);
    for (int k = 0; k < LANES; ++k) fold_merge(&all, lanes[k]);
    return all;
  }
  if (step != 1 || M == 1) {
    for (long j = begin; j < end; j += step) {
      const long place = M == 1 ? j * inner : folded_place(walk, j);
      fold_take(&all, ELEMENT(self, place), j);
    }
    return all;
  }
  for (long j = begin; j < end;) {  // row by row of the last dimension
    const long at = j % walk->folded[M - 1], row = min(walk->folded[M - 1] - at, end - j);
    const long place = folded_place(walk, j);
    for (long k = 0; k < row; ++k) fold_take(&all, ELEMENT(self, place + k * inner), j + k);
    j += row;
  }
  return all;
}

void finish(global O_STORED *first, global P_STORED *second, long place, State state, long n, ACC shift,
            ACC parameter) {
  STORE_O(first, place, AS_O(FIRST_RESULT(state, n)));
#if defined(SECOND_RESULT) && !defined(ONE_RESULT)
  STORE_P(second, place, (P)(SECOND_RESULT(state, n)));
#endif
}

#ifdef SHIFTED
#define SHIFT_OF(p) (n ? TAKEN(LOAD_A(p, 0)) : (ACC)0)
#else
#define SHIFT_OF(p) (ACC)0
#endif

#define PARAMETERS                                                                                             \
  TENSOR(A_STORED, self), TENSOR(O_STORED, first), TENSOR(P_STORED, second), TENSOR(uchar, partial), Walk walk, \
      long results, long n, long slices, ACC_PART parameter_value

#define BEGIN                                   \
  OPEN(A_STORED, self);                         \
  OPEN(O_STORED, first);                        \
  OPEN(P_STORED, second);                       \
  global State *states = (global State *)(partial_buffer + partial_first); \
  const ACC parameter = (ACC)parameter_value

// An item folds one slice of `run` results, one after the other.
kernel void fold_items(PARAMETERS, long run) {
  BEGIN;
  const long slice = get_global_id(0) % slices, from = get_global_id(0) / slices * run;
  const long begin = n / slices * slice, end = slice + 1 == slices ? n : begin + n / slices;
  for (long o = from; o < min(from + run, results); ++o) {
    long out;
    global A_STORED *own = self + kept_place(&walk, o, &out);
    const ACC shift = SHIFT_OF(own);
    const State state = fold_range(own, &walk, begin, end, 1, shift, parameter);
    if (slices > 1)
      states[o * slices + slice] = state;
    else
      finish(first, second, out, state, n, shift, parameter);
  }
}

#define COLUMNS 32

// The same where neighbouring results have neighbouring elements: COLUMNS of them at once.
kernel void fold_columns(PARAMETERS, long run) {
  BEGIN;
  const long slice = get_global_id(0) % slices, from = get_global_id(0) / slices * run;
  const long begin = n / slices * slice, end = slice + 1 == slices ? n : begin + n / slices;
  const long last = min(from + run, results);
  for (long o = from; o < last;) {
    const long width = min(min((long)COLUMNS, walk.kept[K - 1] - o % walk.kept[K - 1]), last - o);
    long out;
    global A_STORED *own = self + kept_place(&walk, o, &out);
    State columns[COLUMNS];
    ACC shifts[COLUMNS];
    for (int k = 0; k < COLUMNS; ++k) {
      columns[k] = fold_init();
      shifts[k] = k < width ? SHIFT_OF(own + k) : (ACC)0;
    }
    for (long j = begin; j < end; ++j) {
      const long place = M == 1 ? j * walk.folded_self[0] : folded_place(&walk, j);
      if (width == COLUMNS) {
#pragma clang loop vectorize(enable)
        for (int k = 0; k < COLUMNS; ++k) {
          const ACC shift = shifts[k];
          fold_take(&columns[k], ELEMENT(own, place + k), j);
        }
      } else {
        for (int k = 0; k < width; ++k) {
          const ACC shift = shifts[k];
          fold_take(&columns[k], ELEMENT(own, place + k), j);
        }
      }
    }
    for (int k = 0; k < width; ++k) {
      if (slices > 1)
        states[(o + k) * slices + slice] = columns[k];
      else
        finish(first, second, out + k * walk.kept_out[K - 1], columns[k], n, shifts[k], parameter);
    }
    o += width;
  }
}

// A group folds one slice of one result together.
kernel void fold_groups(PARAMETERS, local State *shared) {
  BEGIN;
  const long o = get_group_id(0) / slices, slice = get_group_id(0) % slices;
  const long begin = n / slices * slice, end = slice + 1 == slices ? n : begin + n / slices;
  const int item = get_local_id(0), items = get_local_size(0);
  long out;
  global A_STORED *own = self + kept_place(&walk, o, &out);
  const ACC shift = SHIFT_OF(own);
  shared[item] = fold_range(own, &walk, begin + item, end, items, shift, parameter);
  for (int half_of = items / 2; half_of > 0; half_of /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < half_of) {
      State mine = shared[item];
      fold_merge(&mine, shared[item + half_of]);
      shared[item] = mine;
    }
  }
  if (item != 0) return;
  if (slices > 1)
    states[o * slices + slice] = shared[0];
  else
    finish(first, second, out, shared[0], n, shift, parameter);
}

kernel void fold_slices(PARAMETERS) {
  BEGIN;
  const long o = get_global_id(0);
  if (o >= results) return;
  long out;
  global A_STORED *own = self + kept_place(&walk, o, &out);
  State all = states[o * slices];
  for (long i = 1; i < slices; ++i) fold_merge(&all, states[o * slices + i]);
  const ACC shift = SHIFT_OF(own);
  finish(first, second, out, all, n, shift, parameter);
}
