// Kernels of networks in channels-last memory. FORMAT says how numbers are stored: 0 is fp32, 1 bf16, 2 fp16; sums are
// in fp32. A pack is 16 bytes of neighboring channels, which one thread works on.

#if FORMAT == 0
#define LANES 4
#define ONE 0x3f800000u
#else
#define LANES 8
#define ONE (FORMAT == 1 ? 0x3f80u : 0x3c00u)
#endif

#define NEGATIVE_INFINITY __uint_as_float(0xff800000u)

struct Numbers {
  float at[LANES];
};

__device__ float widened(unsigned bits) {
#if FORMAT == 0
  return __uint_as_float(bits);
#elif FORMAT == 1
  return __uint_as_float(bits << 16);
#else
  float number;
  asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"((unsigned short)bits));
  return number;
#endif
}

__device__ unsigned narrowed(float number) {
#if FORMAT == 0
  return __float_as_uint(number);
#else
  unsigned short bits;
#if FORMAT == 1
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(number));
#else
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(number));
#endif
  return bits;
#endif
}

__device__ Numbers unpacked(uint4 pack) {
  const unsigned words[4] = {pack.x, pack.y, pack.z, pack.w};
  Numbers numbers;
#pragma unroll
  for (int lane = 0; lane < LANES; lane++) {
    const unsigned word = words[lane * 4 / LANES];
    numbers.at[lane] = widened(LANES == 4 ? word : lane % 2 ? word >> 16 : word & 0xffffu);
  }
  return numbers;
}

// Of bits in the format of storage, one number in each.
__device__ uint4 packed(const unsigned *bits) {
  unsigned words[4];
#pragma unroll
  for (int word = 0; word < 4; word++) {
    words[word] = LANES == 4 ? bits[word] : bits[word * LANES / 4] | bits[word * LANES / 4 + 1] << 16;
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// Adds a bias to each channel of x, [boards, points, channels], and then applies a ReLU, if wanted. The bias is
// [boards, channels] in fp32, or [channels] in the format of storage. Not a number stays that.
extern "C" __global__ void add_bias(uint4 *x, const float *of_boards, const uint4 *of_channels, unsigned points,
                                    unsigned packs, unsigned count, int relu) {
  const unsigned place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place >= count) return;
  const unsigned pack = place % packs;
  Numbers numbers = unpacked(x[place]), bias;
  if (of_boards) {
    const unsigned board = place / (points * packs);
    const float *first = of_boards + ((size_t)board * packs + pack) * LANES;
#pragma unroll
    for (int lane = 0; lane < LANES; lane++) bias.at[lane] = first[lane];
  } else {
    bias = unpacked(of_channels[pack]);
  }
  unsigned bits[LANES];
#pragma unroll
  for (int lane = 0; lane < LANES; lane++) {
    const float sum = numbers.at[lane] + bias.at[lane];
    bits[lane] = narrowed(relu && sum < 0.0f ? 0.0f : sum);
  }
  x[place] = packed(bits);
}

// Pools x, [boards, points, channels], over each board, which has one block: out is [boards, 3 channels] in fp32, with
// the mean of each channel, the mean times (the square root of the board's area - 14) / 10, and the maximum. All boards
// have the area `area`, unless `areas` has one for each. The block's threads are a multiple of the packs of a point.
extern "C" __global__ void pool(const uint4 *x, float *out, const float *areas, float area, unsigned points,
                                unsigned packs) {
  extern __shared__ float parts[];
  const unsigned board = blockIdx.x, pack = threadIdx.x % packs, row = threadIdx.x / packs;
  const unsigned rows = blockDim.x / packs, channels = packs * LANES;
  float *sums = parts, *maxima = parts + rows * channels;
  Numbers sum, most;
#pragma unroll
  for (int lane = 0; lane < LANES; lane++) {
    sum.at[lane] = 0.0f;
    most.at[lane] = NEGATIVE_INFINITY;
  }
  const uint4 *first = x + (size_t)board * points * packs + pack;
  for (unsigned point = row; point < points; point += rows) {
    const Numbers numbers = unpacked(first[(size_t)point * packs]);
#pragma unroll
    for (int lane = 0; lane < LANES; lane++) {
      const float number = numbers.at[lane];
      sum.at[lane] += number;
      most.at[lane] = number > most.at[lane] || number != number ? number : most.at[lane];
    }
  }
#pragma unroll
  for (int lane = 0; lane < LANES; lane++) {
    sums[row * channels + pack * LANES + lane] = sum.at[lane];
    maxima[row * channels + pack * LANES + lane] = most.at[lane];
  }
  __syncthreads();
  const float size = areas ? areas[board] : area;
  const float sided = (sqrtf(size) - 14.0f) * 0.1f;
  for (unsigned channel = threadIdx.x; channel < channels; channel += blockDim.x) {
    float total = 0.0f, largest = NEGATIVE_INFINITY;
    for (unsigned part = 0; part < rows; part++) {
      total += sums[part * channels + channel];
      const float number = maxima[part * channels + channel];
      largest = number > largest || number != number ? number : largest;
    }
    float *pooled = out + (size_t)board * 3 * channels + channel;
    const float mean = total / size;
    pooled[0] = mean;
    pooled[channels] = mean * sided;
    pooled[2 * channels] = largest;
  }
}

// Unpacks bits: out is [boards, area, channels], with a channel for each plane, one that tells the points of the board,
// and zeros. `words` is [boards, planes, words of a plane]. All boards fill the canvas, unless `sides` has the height
// and the width of each.
extern "C" __global__ void unpack_planes(const unsigned long long *words, const long long *sides, uint4 *out,
                                         unsigned planes, unsigned words_of_plane, unsigned width, unsigned area,
                                         unsigned packs, unsigned count) {
  const unsigned place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place >= count) return;
  const unsigned pack = place % packs, point = place / packs % area, board = place / packs / area;
  bool on_board = true;
  if (sides) on_board = point / width < sides[2 * board] && point % width < sides[2 * board + 1];
  unsigned bits[LANES];
#pragma unroll
  for (int lane = 0; lane < LANES; lane++) {
    const unsigned channel = pack * LANES + lane;
    bool is_set = channel == planes && on_board;
    if (channel < planes) {
      const size_t word = ((size_t)board * planes + channel) * words_of_plane + point / 64;
      is_set = words[word] >> (point % 64) & 1;
    }
    bits[lane] = is_set ? ONE : 0u;
  }
  out[place] = packed(bits);
}
