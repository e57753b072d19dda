// Products of matrices: C = alpha A B + beta S, for each matrix of a batch; T is the compute type.
//
// Strides count elements, so that a transposed operand needs no special case. `sum` is a tensor that broadcasts to C by
// its strides; it is unused if beta is 0.

typedef struct {
  long rows, columns, depth;
  long a_row, a_column, a_batch;
  long b_row, b_column, b_batch;
  long s_row, s_column, s_batch;
} Sizes;

#define MULTIPLY_ADD(x, y, z) ((x) * (y) + (z))

#define PARAMETERS                                                                                  \
  TENSOR(A_STORED, a), TENSOR(A_STORED, b), TENSOR(A_STORED, sum), TENSOR(A_STORED, c), Sizes sizes, \
      A alpha, A beta, int has_sum

void store_product(global A_STORED *c, global A_STORED *sum, const Sizes *s, long row, long column, A product, A alpha,
                   A beta, int has_sum) {
  A value = alpha * product;
  if (has_sum) value += beta * LOAD_A(sum, row * s->s_row + column * s->s_column);
  STORE_A(c, row * s->columns + column, value);
}

#ifdef THREADS
// For work items that are threads of a CPU: each computes ROWS x COLUMNS of C. DEPTH rows of B at a time are copied to
// a buffer that stays in the cache, and multiplied by MICRO rows of A: MICRO x 2 vectors of C stay in registers.
#define ROWS (16 * MICRO)
#define COLUMNS 128
#define DEPTH 256
#define PANEL (2 * LANES)

kernel void gemm_threads(PARAMETERS) {
  const long batch = get_global_id(2);
  OPEN(A_STORED, a);
  OPEN(A_STORED, b);
  OPEN(A_STORED, sum);
  OPEN(A_STORED, c);
  a += batch * sizes.a_batch;
  b += batch * sizes.b_batch;
  sum += batch * sizes.s_batch;
  c += batch * sizes.rows * sizes.columns;
  const long row0 = get_global_id(1) * ROWS, column0 = get_global_id(0) * COLUMNS;
  const int rows = min((long)ROWS, sizes.rows - row0), columns = min((long)COLUMNS, sizes.columns - column0);
  const int panels = (columns + PANEL - 1) / PANEL;
  A packed[DEPTH * COLUMNS] __attribute__((aligned(64)));
  A strip[DEPTH * MICRO] __attribute__((aligned(64)));
  A product[ROWS * COLUMNS] __attribute__((aligned(64)));
  for (int i = 0; i < ROWS * COLUMNS; ++i) product[i] = 0;
  for (long k0 = 0; k0 < sizes.depth; k0 += DEPTH) {
    const int depth = min((long)DEPTH, sizes.depth - k0);
    for (int p = 0; p < panels; ++p) {
      const int first = p * PANEL, width = min(PANEL, columns - first);
      for (int k = 0; k < depth; ++k) {
        global A_STORED *from = b + (k0 + k) * sizes.b_row + (column0 + first) * sizes.b_column;
        A *to = packed + (p * DEPTH + k) * PANEL;
        if (width == PANEL && sizes.b_column == 1) {
#pragma unroll
          for (int j = 0; j < PANEL; ++j) to[j] = LOAD_A(from, j);
        } else {
          for (int j = 0; j < PANEL; ++j) to[j] = j < width ? LOAD_A(from, j * sizes.b_column) : (A)0;
        }
      }
    }
    for (int i0 = 0; i0 < rows; i0 += MICRO) {
      for (int r = 0; r < MICRO; ++r) {
        global A_STORED *from = a + (row0 + i0 + r) * sizes.a_row + k0 * sizes.a_column;
        const bool inside = i0 + r < rows;
        for (int k = 0; k < depth; ++k) strip[k * MICRO + r] = inside ? LOAD_A(from, k * sizes.a_column) : (A)0;
      }
      for (int p = 0; p < panels; ++p) {
        VECTOR left[MICRO], right[MICRO];
        A *place = product + i0 * COLUMNS + p * PANEL;
#pragma unroll
        for (int r = 0; r < MICRO; ++r) {
          left[r] = *(VECTOR *)(place + r * COLUMNS);
          right[r] = *(VECTOR *)(place + r * COLUMNS + LANES);
        }
        const A *panel = packed + p * DEPTH * PANEL;
        for (int k = 0; k < depth; ++k) {
          const VECTOR b0 = *(const VECTOR *)(panel + k * PANEL), b1 = *(const VECTOR *)(panel + k * PANEL + LANES);
#pragma unroll
          for (int r = 0; r < MICRO; ++r) {
            const VECTOR x = (VECTOR)(strip[k * MICRO + r]);
            left[r] = MULTIPLY_ADD(x, b0, left[r]);
            right[r] = MULTIPLY_ADD(x, b1, right[r]);
          }
        }
#pragma unroll
        for (int r = 0; r < MICRO; ++r) {
          *(VECTOR *)(place + r * COLUMNS) = left[r];
          *(VECTOR *)(place + r * COLUMNS + LANES) = right[r];
        }
      }
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j)
      store_product(c, sum, &sizes, row0 + i, column0 + j, product[i * COLUMNS + j], alpha, beta, has_sum);
  }
}
#else
// For lanes of a GPU: a group of SIDE x SIDE items computes TILE x TILE of C, each item REGISTERS x REGISTERS of it,
// from tiles of A and B in local memory, which all of them load together.
#define SIDE 16
#define TILE (SIDE * REGISTERS)
#define DEPTH 16

__attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
kernel void gemm_lanes(PARAMETERS) {
  const long batch = get_global_id(2);
  OPEN(A_STORED, a);
  OPEN(A_STORED, b);
  OPEN(A_STORED, sum);
  OPEN(A_STORED, c);
  a += batch * sizes.a_batch;
  b += batch * sizes.b_batch;
  sum += batch * sizes.s_batch;
  c += batch * sizes.rows * sizes.columns;
  local A a_tile[DEPTH][TILE + 1], b_tile[DEPTH][TILE + 1];
  const int x = get_local_id(0), y = get_local_id(1), item = y * SIDE + x;
  const long row0 = get_group_id(1) * (long)TILE, column0 = get_group_id(0) * (long)TILE;
  A product[REGISTERS][REGISTERS];
#pragma unroll
  for (int i = 0; i < REGISTERS; ++i) {
#pragma unroll
    for (int j = 0; j < REGISTERS; ++j) product[i][j] = 0;
  }
  for (long k0 = 0; k0 < sizes.depth; k0 += DEPTH) {
    // Neighbouring items load neighbouring elements, whether the operand is transposed or not.
    for (int e = item; e < DEPTH * TILE; e += SIDE * SIDE) {
      const int k = sizes.a_column == 1 ? e % DEPTH : e / TILE, i = sizes.a_column == 1 ? e / DEPTH : e % TILE;
      const bool inside = k0 + k < sizes.depth && row0 + i < sizes.rows;
      a_tile[k][i] = inside ? LOAD_A(a, (row0 + i) * sizes.a_row + (k0 + k) * sizes.a_column) : (A)0;
    }
    for (int e = item; e < DEPTH * TILE; e += SIDE * SIDE) {
      const int k = sizes.b_column == 1 ? e / TILE : e % DEPTH, j = sizes.b_column == 1 ? e % TILE : e / DEPTH;
      const bool inside = k0 + k < sizes.depth && column0 + j < sizes.columns;
      b_tile[k][j] = inside ? LOAD_A(b, (k0 + k) * sizes.b_row + (column0 + j) * sizes.b_column) : (A)0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < DEPTH; ++k) {
      A left[REGISTERS], right[REGISTERS];
#pragma unroll
      for (int i = 0; i < REGISTERS; ++i) left[i] = a_tile[k][y + i * SIDE], right[i] = b_tile[k][x + i * SIDE];
#pragma unroll
      for (int i = 0; i < REGISTERS; ++i) {
#pragma unroll
        for (int j = 0; j < REGISTERS; ++j) product[i][j] = MULTIPLY_ADD(left[i], right[j], product[i][j]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#pragma unroll
  for (int i = 0; i < REGISTERS; ++i) {
#pragma unroll
    for (int j = 0; j < REGISTERS; ++j) {
      const long row = row0 + y + i * SIDE, column = column0 + x + j * SIDE;
      if (row < sizes.rows && column < sizes.columns)
        store_product(c, sum, &sizes, row, column, product[i][j], alpha, beta, has_sum);
    }
  }
}
#endif
