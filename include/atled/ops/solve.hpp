// atled/ops/solve.hpp: linear systems and functions of matrices, made from decompositions.
// Reads: ops/decompositions.hpp. Leading axes are batches; see there for types.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/decompositions.hpp"
#include "atled/ops/reduce.hpp"

namespace atled::linalg {

namespace detail {

/// A sum, product or extreme along the last axes, one or two of them.
constexpr ir::operand over_last(op code, const ir::operand& x, int count = 1) {
  if (x.is_poison()) return x;
  const std::int64_t mask = ((std::int64_t{1} << count) - 1) << (x.type().rank() - count);
  return {x.builder(), x.builder().reduce(code, x.id(), mask)};
}
/// A value for each matrix, or each row, repeated along one more axis at the end.
constexpr ir::operand along_last(const ir::operand& x, std::int64_t size) {
  if (x.is_poison()) return x;
  shape dims = x.type().dims;
  const std::int64_t mask = (std::int64_t{1} << dims.rank) - 1;
  dims.push(size);
  return {x.builder(), x.builder().broadcast(x.id(), dims, mask)};
}
/// The rows of `x` times the elements of a vector.
constexpr ir::operand scaled_rows(const ir::operand& x, const ir::operand& by) {
  return x * along_last(by, cols_of(x));
}

constexpr ir::operand absolute(const ir::operand& x) {
  return x.apply(op::abs);
}

constexpr ir::operand identity_like(const ir::operand& x, const call_site& at) {
  ir::builder& b = x.builder();
  if (x.is_poison()) return x;
  const ir::operand one(eye(x, rows_of(x), x.type().element, at), at);
  return {b, ir::broadcast_to(b, one.id(), x.type().dims)};
}

constexpr ir::operand diagonal_of(const ir::operand& x, const call_site& at) {
  return over_last(op::reduce_sum, x * identity_like(x, at));
}
/// The diagonal of U, whose elements may be infinite elsewhere.
constexpr ir::operand pivots_of(const lu_parts& lu, const call_site& at) {
  const ir::operand on = identity_like(lu.factors, at) != 0.0;
  return over_last(op::reduce_sum, ir::select(on, lu.factors, lu.factors.like(0)));
}

/// 1 or -1, as the permutation has an even or odd number of pairs out of order.
constexpr ir::operand parity_of(const lu_parts& lu, dtype element) {
  ir::builder& b = lu.order.builder();
  const tensor_type type = lu.order.type();
  const std::int64_t size = type.dims[type.rank() - 1];
  shape dims = type.dims;
  dims.push(size);
  const std::int64_t lead = (std::int64_t{1} << (type.rank() - 1)) - 1;
  const tensor_type pairs{dtype::i32, dims};
  const ir::operand row(b, b.iota(pairs, dims.rank - 2));
  const ir::operand column(b, b.iota(pairs, dims.rank - 1));
  const ir::operand first(b, b.broadcast(lu.order.id(), dims, lead | (lead + 1)));
  const ir::operand second(b, b.broadcast(lu.order.id(), dims, lead | (2 * (lead + 1))));
  const ir::operand turned = ((row < column) & (first > second)).as(dtype::i32);
  const ir::operand odd =
      over_last(op::reduce_sum, turned, 2) & over_last(op::reduce_sum, turned, 2).like(1);
  return 1.0 - odd.as(element) * 2.0;
}

/// One element of each matrix.
constexpr ir::operand entry(const ir::operand& x, std::int64_t i, std::int64_t j) {
  const ir::operand one = block_of(x, i, 1, j, 1);
  shape dims = x.type().dims;
  dims.rank -= 2;
  return {x.builder(), x.builder().reshape(one.id(), dims)};
}
constexpr ir::operand small_det(const ir::operand& a) {
  const auto minor_of = [&](int i, int j) {  // of rows 1, 2 and columns i, j
    return entry(a, 1, i) * entry(a, 2, j) - entry(a, 1, j) * entry(a, 2, i);
  };
  switch (rows_of(a)) {
    case 1:
      return entry(a, 0, 0);
    case 2:
      return entry(a, 0, 0) * entry(a, 1, 1) - entry(a, 0, 1) * entry(a, 1, 0);
    default:
      return entry(a, 0, 0) * minor_of(1, 2) - entry(a, 0, 1) * minor_of(0, 2) +
             entry(a, 0, 2) * minor_of(0, 1);
  }
}

/// The relative size below which a singular value counts as 0.
constexpr double default_cut(const ir::operand& a) {
  const double epsilon = a.type().element == dtype::f64 ? 0x1p-52 : 0x1p-23;
  const std::int64_t most = rows_of(a) > cols_of(a) ? rows_of(a) : cols_of(a);
  return epsilon * static_cast<double>(most);
}
/// Where singular values are more than `cut` times the largest.
constexpr ir::operand significant(const ir::operand& s, double cut) {
  const std::int64_t size = s.type().dims[s.type().rank() - 1];
  const ir::operand most = over_last(op::reduce_max, s);
  return s > along_last(most * cut, size);
}
constexpr ir::operand inverse_where(const ir::operand& chosen, const ir::operand& s) {
  const ir::operand safe = ir::select(chosen, s, s.like(1));
  return ir::select(chosen, s.like(1) / safe, s.like(0));
}

constexpr ir::operand product(const ir::operand& x, const ir::operand& y, const call_site& at) {
  return {matmul(x, y, at), at};
}

/// The shortest x for which |a x - y| is least, y as many rows as a: by QR where all singular
/// values are `chosen`, which is smooth also where some of them are equal; else by those that are.
constexpr ir::operand least_solved(const ir::operand& a, const ir::operand& y,
                                   const svd_parts& parts, const ir::operand& chosen,
                                   const call_site& at) {
  ir::builder& b = a.builder();
  const auto turned = [&](const ir::operand& x) {
    return ir::operand(matrix_transpose(x, at), at);
  };
  const std::int64_t lead = (std::int64_t{1} << (a.type().rank() - 2)) - 1;
  const ir::operand is_full = over_last(op::reduce_min, chosen.as(dtype::i32)) == 1.0;
  const auto spread = [&](const ir::operand& like) {
    return ir::operand(b, b.broadcast(is_full.id(), like.type().dims, lead));
  };
  const ir::operand tall = rows_of(a) >= cols_of(a) ? a : turned(a);
  const std::int64_t rows = rows_of(tall);
  const std::int64_t cols = cols_of(tall);
  const ir::operand ones(eye(tall, rows, a.type().element, at), at);
  const ir::operand some = block_of(ones, 0, rows, 0, cols);
  const ir::operand any(b, ir::broadcast_to(b, some.id(), tall.type().dims));
  const ir::operand both = factored(op::qr, ir::select(spread(tall), tall, any));
  const ir::operand q = block_of(both, 0, rows, 0, cols);
  const ir::operand r = block_of(both, rows, cols, 0, cols);
  const ir::operand by_qr = rows_of(a) >= cols_of(a)
                                ? triangle_solved(r, product(turned(q), y, at), 0)
                                : product(q, triangle_solved(r, y, triangle::transposed), at);
  const ir::operand along =
      scaled_rows(product(turned(parts.u), y, at), inverse_where(chosen, parts.s));
  const ir::operand by_svd = product(parts.v, along, at);
  return ir::select(spread(by_qr), by_qr, by_svd);
}

}  // namespace detail

/// The solution x of a x = b; leading axes broadcast.
///
///   a  f32[..., N, N]     b  f32[N] or f32[..., N, K]     out  as b
///
/// Cost: 2 N^3 / 3 flops for each matrix, 2 N^2 for each right side.
/// Gradient: d_b = a^-T d_out, d_a = -d_b x^T.
/// Ill-formed: a is not square; b has not N rows; leading axes do not broadcast.
[[nodiscard]] constexpr expr solve(const expr& a, const expr& b, call_site at = call_site::here()) {
  const detail::system s = detail::begin_system(a, b, at.in("solve"));
  if (s.is_poison()) return s.a;
  return s.finished(detail::lu_solved(detail::lu_of(s.a), s.b));
}

/// The solution of a x = b from the factors and places that `lu_factor(a)` gave; all else as
/// `solve`.
[[nodiscard]] constexpr expr lu_solve(const std::pair<expr, expr>& factors, const expr& b,
                                      call_site at = call_site::here()) {
  const detail::system s = detail::begin_system(factors.first, b, at.in("lu_solve"));
  if (s.is_poison()) return s.a;
  ir::builder& into = s.a.builder();
  shape dims = s.a.type().dims;
  --dims.rank;
  const ir::operand order(into, ir::broadcast_to(into, factors.second.id(), dims));
  return s.finished(detail::lu_solved({s.a, order}, s.b));
}

/// The solution of a x = b from the lower `cholesky(a)`; all else as `solve`.
[[nodiscard]] constexpr expr cho_solve(const expr& lower, const expr& b,
                                       call_site at = call_site::here()) {
  const detail::system s = detail::begin_system(lower, b, at.in("cho_solve"));
  if (s.is_poison()) return s.a;
  const ir::operand half = detail::triangle_solved(s.a, s.b, triangle::lower);
  return s.finished(detail::triangle_solved(s.a, half, triangle::lower + triangle::transposed));
}

/// The inverse; `solve(a, b)` is faster and nearer than `matmul(inv(a), b)`.
///
/// Ill-formed: a is no square matrix.
[[nodiscard]] constexpr expr inv(const expr& a, call_site at = call_site::here()) {
  at = at.in("inv");
  const ir::operand in = detail::begin_matrix(a, at, true);
  if (in.is_poison()) return in;
  return detail::lu_solved(detail::lu_of(in), detail::identity_like(in, at));
}

/// The sign (1, -1, 0) of the determinant and the logarithm of its size, which does not overflow.
///
///   a  f32[..., N, N]     out  f32[...], f32[...]
///
/// Gradient: of the logarithm a^-T d_out; the sign has none.
/// Ill-formed: a is no square matrix.
[[nodiscard]] constexpr std::pair<expr, expr> slogdet(const expr& a,
                                                      call_site at = call_site::here()) {
  at = at.in("slogdet");
  const ir::operand in = detail::begin_matrix(a, at, true);
  if (in.is_poison()) return {in, in};
  const detail::lu_parts lu = detail::lu_of(in);
  const ir::operand pivots = detail::pivots_of(lu, at);
  const ir::operand sign = detail::over_last(op::reduce_prod, pivots.apply(op::sign));
  const ir::operand logs = detail::absolute(pivots).apply(op::log);
  return {sign * detail::parity_of(lu, in.type().element), detail::over_last(op::reduce_sum, logs)};
}

/// The logarithm of the determinant; NaN where that is negative.
///
/// Gradient: a^-T d_out.
/// Ill-formed: a is no square matrix.
[[nodiscard]] constexpr expr logdet(const expr& a, call_site at = call_site::here()) {
  at = at.in("logdet");
  const auto [sign, logarithm] = slogdet(a, at);
  const ir::operand s(sign, at);
  if (s.is_poison()) return s;
  const ir::operand value(logarithm, at);
  return ir::select(s < s.like(0), s.like(__builtin_nan("")), value);
}

/// The pseudo-inverse; singular values up to `cut` times the largest count as 0.
///
///   a  f32[..., M, N]     out  f32[..., N, M]
///
/// `cut` is the rounding error of the element type times the larger size, if it is not given.
/// Gradient: of any order at full rank; of lower rank where the other singular values differ.
/// Ill-formed: a is no matrix.
[[nodiscard]] constexpr expr pinv(const expr& a, double cut = -1,
                                  call_site at = call_site::here()) {
  at = at.in("pinv");
  const ir::operand in = detail::begin_matrix(a, at);
  if (in.is_poison()) return in;
  const detail::svd_parts parts = detail::svd_of(in, at);
  const ir::operand chosen = detail::significant(parts.s, cut < 0 ? detail::default_cut(in) : cut);
  ir::builder& b = in.builder();
  shape dims = in.type().dims;
  dims[dims.rank - 1] = detail::rows_of(in);
  const ir::operand one(eye(in, detail::rows_of(in), in.type().element, at), at);
  const ir::operand right(b, ir::broadcast_to(b, one.id(), dims));
  return detail::least_solved(in, right, parts, chosen, at);
}

/// What `lstsq` finds: the solution, the sums of squares that remain, the rank, singular values.
struct least_squares {
  expr x, residuals, rank, s;
};

/// The shortest x for which |a x - b| is least.
///
///   a  f32[M, N]     b  f32[M] or f32[M, K]     x  f32[N] or f32[N, K]
///
/// Gradient: as of `pinv`.
/// Ill-formed: a is no matrix; b has not M rows.
[[nodiscard]] constexpr least_squares lstsq(const expr& a, const expr& b, double cut = -1,
                                            call_site at = call_site::here()) {
  at = at.in("lstsq");
  const detail::system given = detail::begin_system(a, b, at, false);
  if (given.is_poison()) return {given.a, given.a, given.a, given.a};
  const detail::svd_parts parts = detail::svd_of(given.a, at);
  const ir::operand chosen =
      detail::significant(parts.s, cut < 0 ? detail::default_cut(given.a) : cut);
  const ir::operand x = detail::least_solved(given.a, given.b, parts, chosen, at);
  const ir::operand rest = given.b - detail::product(given.a, x, at);
  const int rows_axis = rest.type().rank() - 2;
  ir::builder& into = rest.builder();
  const ir::operand squares(
      into, into.reduce(op::reduce_sum, (rest * rest).id(), std::int64_t{1} << rows_axis));
  return {given.finished(x), squares, detail::over_last(op::reduce_sum, chosen.as(dtype::i32)),
          parts.s};
}

/// The number of singular values above `cut` times the largest, as i32.
///
/// Ill-formed: a is no matrix.
[[nodiscard]] constexpr expr matrix_rank(const expr& a, double cut = -1,
                                         call_site at = call_site::here()) {
  at = at.in("matrix_rank");
  const ir::operand in = detail::begin_matrix(a, at);
  if (in.is_poison()) return in;
  const ir::operand s = detail::svd_of(in, at).s;
  const ir::operand chosen = detail::significant(s, cut < 0 ? detail::default_cut(in) : cut);
  return detail::over_last(op::reduce_sum, chosen.as(dtype::i32));
}

/// The norms of a matrix.
enum class norm_order : std::uint8_t {
  frobenius,  ///< the root of the sum of squares
  nuclear,    ///< the sum of the singular values
  two,        ///< the largest singular value
  minus_two,  ///< the smallest
  one,        ///< the largest sum of a column
  infinity,   ///< the largest sum of a row
};

/// A norm of each matrix.
///
///   a  f32[..., M, N]     out  f32[...]
///
/// Gradient: 0 for the Frobenius norm of zeros; extremes share where they are equal.
/// Ill-formed: a is no matrix.
[[nodiscard]] constexpr expr matrix_norm(const expr& a, norm_order order = norm_order::frobenius,
                                         call_site at = call_site::here()) {
  at = at.in("matrix_norm");
  const ir::operand in = detail::begin_matrix(a, at);
  if (in.is_poison()) return in;
  switch (order) {
    case norm_order::frobenius:
      return atled::detail::flat_sqrt(detail::over_last(op::reduce_sum, in * in, 2));
    case norm_order::nuclear:
      return detail::over_last(op::reduce_sum, detail::svd_of(in, at).s);
    case norm_order::two:
      return detail::over_last(op::reduce_max, detail::svd_of(in, at).s);
    case norm_order::minus_two:
      return detail::over_last(op::reduce_min, detail::svd_of(in, at).s);
    case norm_order::one: {
      const ir::operand turned(matrix_transpose(in, at), at);
      const ir::operand sums = detail::over_last(op::reduce_sum, detail::absolute(turned));
      return detail::over_last(op::reduce_max, sums);
    }
    case norm_order::infinity: {
      const ir::operand sums = detail::over_last(op::reduce_sum, detail::absolute(in));
      return detail::over_last(op::reduce_max, sums);
    }
  }
  __builtin_unreachable();
}

/// The condition number: the largest singular value over the smallest.
///
/// Ill-formed: a is no matrix.
[[nodiscard]] constexpr expr cond(const expr& a, call_site at = call_site::here()) {
  at = at.in("cond");
  const ir::operand in = detail::begin_matrix(a, at);
  if (in.is_poison()) return in;
  const ir::operand s = detail::svd_of(in, at).s;
  return detail::over_last(op::reduce_max, s) / detail::over_last(op::reduce_min, s);
}

/// The product of `n` equal matrices, of their inverses where n < 0.
///
/// Cost: at most 2 log2(n) products.
/// Ill-formed: a is no square matrix.
[[nodiscard]] constexpr expr matrix_power(const expr& a, std::int64_t n,
                                          call_site at = call_site::here()) {
  at = at.in("matrix_power");
  ir::operand power = detail::begin_matrix(a, at, true);
  if (power.is_poison()) return power;
  if (n == 0) return detail::identity_like(power, at);
  if (n < 0) power = ir::operand(inv(power, at), at);
  std::uint64_t rest = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  ir::operand out = power;
  bool has_factor = false;
  for (;; rest /= 2) {
    if (rest % 2 == 1) {
      out = has_factor ? detail::product(out, power, at) : power;
      has_factor = true;
    }
    if (rest <= 1) return out;
    power = detail::product(power, power, at);
  }
}

/// The exponential of a matrix: a fraction of polynomials at a / 2^s, squared s times, s <= 16.
///
/// Cost: 22 products and one `solve`, whatever s is.
/// Ill-formed: a is no square matrix.
/// Source: Higham, The scaling and squaring method for the matrix exponential revisited, 2005.
[[nodiscard]] constexpr expr expm(const expr& a, call_site at = call_site::here()) {
  constexpr double c[] = {64764752532480000.0,
                          32382376266240000.0,
                          7771770303897600.0,
                          1187353796428800.0,
                          129060195264000.0,
                          10559470521600.0,
                          670442572800.0,
                          33522128640.0,
                          1323241920.0,
                          40840800.0,
                          960960.0,
                          16380.0,
                          182.0,
                          1.0};
  constexpr double largest = 5.371920351148152;  // the norm up to which the fraction is exact
  constexpr int most_squarings = 16;
  at = at.in("expm");
  const ir::operand in = detail::begin_matrix(a, at, true);
  if (in.is_poison()) return in;
  ir::builder& b = in.builder();
  const shape dims = in.type().dims;
  const ir::operand size(matrix_norm(in, norm_order::one, at), at);
  const auto spread = [&](const ir::operand& x) {
    return ir::operand(b, b.broadcast(x.id(), dims, (std::int64_t{1} << (dims.rank - 2)) - 1));
  };
  const auto is_above = [&](int i) {  // more than i squarings are needed
    return size > size.like(largest * static_cast<double>(std::int64_t{1} << i));
  };
  ir::operand factor = size.like(1);
  for (int i = 0; i < most_squarings; ++i) {
    factor =
        ir::select(is_above(i), size.like(0.5 / static_cast<double>(std::int64_t{1} << i)), factor);
  }
  const ir::operand x = in * spread(factor);
  const ir::operand one = detail::identity_like(in, at);
  const ir::operand x2 = detail::product(x, x, at);
  const ir::operand x4 = detail::product(x2, x2, at);
  const ir::operand x6 = detail::product(x2, x4, at);
  const ir::operand odd = detail::product(x6, x6 * c[13] + x4 * c[11] + x2 * c[9], at) + x6 * c[7] +
                          x4 * c[5] + x2 * c[3] + one * c[1];
  const ir::operand u = detail::product(x, odd, at);
  const ir::operand v = detail::product(x6, x6 * c[12] + x4 * c[10] + x2 * c[8], at) + x6 * c[6] +
                        x4 * c[4] + x2 * c[2] + one * c[0];
  ir::operand out = detail::lu_solved(detail::lu_of(v - u), u + v);
  for (int i = 0; i < most_squarings; ++i) {
    out = ir::select(spread(is_above(i)), detail::product(out, out, at), out);
  }
  return out;
}

}  // namespace atled::linalg
