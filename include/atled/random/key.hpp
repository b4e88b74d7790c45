// atled/random/key.hpp: keys and how more are made of them; bits of jax.random, partitionable form.
// Reads: random/threefry.hpp, ops/slice.hpp. Next: random/distributions.hpp.
//
// A key is a tensor<u32, 2>. On tensors these functions are plain constexpr code, inside a trace
// they become operations; the bits are the same.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/tensor.hpp"
#include "atled/ops/creation.hpp"
#include "atled/ops/integer.hpp"
#include "atled/ops/slice.hpp"
#include "atled/random/threefry.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace atled::random {

/// A key outside a trace.
using key_tensor = tensor<u32, 2>;

namespace detail {

constexpr key_tensor block_of(const key_tensor& key, u32 high, u32 low) {
  const word_pair out = threefry2x32({key(0), key(1)}, {high, low});
  return {out[0], out[1]};
}

/// The two words of a key, each u32[].
constexpr std::array<ir::operand, 2> words_of(const expr& key, const call_site& at) {
  const ir::operand in(key, at);
  ir::builder& b = in.builder();
  if (!in.is_poison() && !(in.type() == key_tensor::type)) {
    text why;
    b.fail(at.function, why << "key " << in.type()
                            << ": it must be u32[2]; make it with key, "
                               "split or fold_in");
    return {ir::operand(b, ir::poison), ir::operand(b, ir::poison)};
  }
  return {ir::operand(index_in_dim(key, 0, 0, {}, at), at),
          ir::operand(index_in_dim(key, 1, 0, {}, at), at)};
}

/// Word 0 or 1 (2: their xor) of the block at each counter, in the shape of the counters.
constexpr ir::operand threefry(const std::array<ir::operand, 2>& key, const ir::operand& high,
                               const ir::operand& low, int word) {
  ir::builder& b = low.builder();
  if (key[0].is_poison() || key[1].is_poison() || low.is_poison()) return {b, ir::poison};
  const shape dims = low.type().dims;
  const int ids[4] = {ir::broadcast_to(b, key[0].id(), dims),
                      ir::broadcast_to(b, key[1].id(), dims), high.id(), low.id()};
  return {b, b.append(op::threefry, ids, 4, ir::attribute_list::of(word))};
}

/// The place of each element in row-major order, as two words.
constexpr std::array<ir::operand, 2> counters(ir::builder& b, const shape& dims) {
  constexpr std::int64_t most = std::int64_t{1} << 32;
  const std::int64_t size = dims.size();
  if (dims.bounded_axes() != 0) {  // the place depends on the sizes: an index times what follows it
    ir::operand place(b, b.splat(0, {dtype::u32, dims}));
    ir::operand stride(b, b.integer_constant(1, dtype::u32));
    for (int i = dims.rank - 1; i >= 0; --i) {
      place = place + ir::operand(b, b.iota({dtype::u32, dims}, i)) * stride;
      stride = stride * ir::size_beside(stride, dims[i]);
    }
    return {place.like(0), place};
  }
  if (size <= most) {
    const ir::operand low(b, b.reshape(b.iota({dtype::u32, shape::of({size})}, 0), dims));
    return {low.like(0), low};
  }
  const ir::operand place(b, b.reshape(b.iota({dtype::i64, shape::of({size})}, 0), dims));
  const auto high = ir::operand::combine(op::shift_right, place, place.like(32));
  return {high.as(dtype::u32), place.as(dtype::u32)};
}

/// Keys [..., 2] from the words of their blocks.
constexpr expr key_of(const ir::operand& first, const ir::operand& second, const call_site& at) {
  return stack({first, second}, first.type().rank(), at);
}

}  // namespace detail

/// The key of a seed: the words (0, seed). A seed beyond 32 bits gives its upper half as well.
[[nodiscard]] constexpr key_tensor key(std::int64_t seed) {
  constexpr std::int64_t least = -(std::int64_t{1} << 31);
  const bool is_short = seed >= least && seed < (std::int64_t{1} << 32);
  const auto bits = static_cast<std::uint64_t>(seed);
  return {is_short ? u32{0} : static_cast<u32>(bits >> 32), static_cast<u32>(bits)};
}
/// The key of a seed that the program computes, i32[] or u32[].
[[nodiscard]] constexpr expr key(const expr& seed, call_site at = call_site::here()) {
  const ir::operand low = ir::operand(seed, at.in("key")).as(dtype::u32);
  return low.is_poison() ? low : detail::key_of(low.like(0), low, at.in("key"));
}

/// N keys that are independent of each other and of `key`: `auto [a, b] = split<2>(key);`
template <int N>
[[nodiscard]] constexpr std::array<key_tensor, std::size_t{N}> split(const key_tensor& key) {
  std::array<key_tensor, std::size_t{N}> out{};
  for (u32 i = 0; i < u32{N}; ++i) out[i] = detail::block_of(key, 0, i);
  return out;
}
/// The same inside a trace, as one u32[count, 2].
[[nodiscard]] constexpr expr split(const expr& key, std::int64_t count,
                                   call_site at = call_site::here()) {
  at = at.in("split");
  const auto words = detail::words_of(key, at);
  const auto [high, low] = detail::counters(key.builder(), shape::of({count}));
  const ir::operand first = detail::threefry(words, high, low, 0);
  if (first.is_poison()) return first;
  return detail::key_of(first, detail::threefry(words, high, low, 1), at);
}
template <int N>
[[nodiscard]] constexpr std::array<expr, std::size_t{N}> split(const expr& key,
                                                               call_site at = call_site::here()) {
  at = at.in("split");
  const expr keys = split(key, N, at);
  std::array<expr, std::size_t{N}> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = index_in_dim(keys, static_cast<std::int64_t>(i), 0, {}, at);
  }
  return out;
}

/// A new key from a key and a number: `fold_in(seed_key, step)` is the key of a step.
[[nodiscard]] constexpr key_tensor fold_in(const key_tensor& key, std::int64_t data) {
  return detail::block_of(key, 0, static_cast<u32>(data));
}
[[nodiscard]] constexpr expr fold_in(const expr& key, const located& data,
                                     call_site at = call_site::here()) {
  at = at.in("fold_in");
  const auto words = detail::words_of(key, at);
  const ir::operand low = ir::as_operand(key.builder(), data, dtype::u32).as(dtype::u32);
  if (low.is_poison()) return low;
  const ir::operand first = detail::threefry(words, low.like(0), low, 0);
  if (first.is_poison()) return first;
  return detail::key_of(first, detail::threefry(words, low.like(0), low, 1), at);
}

}  // namespace atled::random
