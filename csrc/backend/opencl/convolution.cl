// Convolutions as matrix products. `columns` has a column for every output pixel of every sample, with the inputs in
// its window: a row for each channel and kernel element. Its sizes: (channels * kernel elements, samples * pixels).
typedef struct {
  long in[3], out[3], kernel_size[3], stride[3], padding[3], dilation[3];
  long channels, samples;
} Shape;

#define PLANE(sizes) ((sizes)[0] * (sizes)[1] * (sizes)[2])

kernel void im2col(TENSOR(T_STORED, in), TENSOR(T_STORED, columns), Shape s, long n) {
  OPEN(T_STORED, in);
  OPEN(T_STORED, columns);
  const long i = get_global_id(0);
  if (i >= n) return;
  const long pixels = PLANE(s.out), taps = PLANE(s.kernel_size);
  const long pixel = i % pixels, sample = i / pixels % s.samples, row = i / pixels / s.samples;
  const long tap = row % taps, channel = row / taps;
  const long kx = tap % s.kernel_size[2], ky = tap / s.kernel_size[2] % s.kernel_size[1];
  const long kz = tap / s.kernel_size[2] / s.kernel_size[1];
  const long ox = pixel % s.out[2], oy = pixel / s.out[2] % s.out[1], oz = pixel / s.out[2] / s.out[1];
  const long x = ox * s.stride[2] - s.padding[2] + kx * s.dilation[2];
  const long y = oy * s.stride[1] - s.padding[1] + ky * s.dilation[1];
  const long z = oz * s.stride[0] - s.padding[0] + kz * s.dilation[0];
  const bool inside = x >= 0 && x < s.in[2] && y >= 0 && y < s.in[1] && z >= 0 && z < s.in[0];
  const long place = ((sample * s.channels + channel) * s.in[0] + z) * s.in[1] * s.in[2] + y * s.in[2] + x;
  STORE_T(columns, i, inside ? LOAD_T(in, place) : (T)0);
}

// Sums the columns that each input pixel is in, and adds the bias of its channel, if any.
kernel void col2im(TENSOR(T_STORED, columns), TENSOR(T_STORED, out), TENSOR(T_STORED, bias), int has_bias, Shape s,
                   long n) {
  OPEN(T_STORED, columns);
  OPEN(T_STORED, out);
  OPEN(T_STORED, bias);
  const long i = get_global_id(0);
  if (i >= n) return;
  const long pixels = PLANE(s.out);
  const long x = i % s.in[2], y = i / s.in[2] % s.in[1], z = i / s.in[2] / s.in[1] % s.in[0];
  const long channel = i / PLANE(s.in) % s.channels, sample = i / PLANE(s.in) / s.channels;
  T sum = has_bias ? LOAD_T(bias, channel) : (T)0;
  for (long kz = 0; kz < s.kernel_size[0]; ++kz) {
    const long tz = z + s.padding[0] - kz * s.dilation[0], oz = tz / s.stride[0];
    if (tz < 0 || oz * s.stride[0] != tz || oz >= s.out[0]) continue;
    for (long ky = 0; ky < s.kernel_size[1]; ++ky) {
      const long ty = y + s.padding[1] - ky * s.dilation[1], oy = ty / s.stride[1];
      if (ty < 0 || oy * s.stride[1] != ty || oy >= s.out[1]) continue;
      for (long kx = 0; kx < s.kernel_size[2]; ++kx) {
        const long tx = x + s.padding[2] - kx * s.dilation[2], ox = tx / s.stride[2];
        if (tx < 0 || ox * s.stride[2] != tx || ox >= s.out[2]) continue;
        const long row = ((channel * s.kernel_size[0] + kz) * s.kernel_size[1] + ky) * s.kernel_size[2] + kx;
        const long pixel = (oz * s.out[1] + oy) * s.out[2] + ox;
        sum += LOAD_T(columns, (row * s.samples + sample) * pixels + pixel);
      }
    }
  }
  STORE_T(out, i, sum);
}

// (channels, samples, pixels) in the order (samples, channels, pixels), with a bias for every channel.
kernel void by_sample(TENSOR(T_STORED, product), TENSOR(T_STORED, out), TENSOR(T_STORED, bias), int has_bias,
                      long channels, long samples, long pixels, long n) {
  OPEN(T_STORED, product);
  OPEN(T_STORED, out);
  OPEN(T_STORED, bias);
  const long i = get_global_id(0);
  if (i >= n) return;
  const long pixel = i % pixels, channel = i / pixels % channels, sample = i / pixels / channels;
  const T value = LOAD_T(product, (channel * samples + sample) * pixels + pixel);
  STORE_T(out, i, has_bias ? value + LOAD_T(bias, channel) : value);
}
