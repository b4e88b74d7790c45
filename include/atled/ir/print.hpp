// atled/ir/print.hpp: a graph as text, one equation a line, and as a Graphviz drawing.
// Reads: ir/graph.hpp. Both work while compiling too: `printed_size` and `print_to` need no memory.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/regions.hpp"

#include <limits>
#include <string>
#include <string_view>

namespace atled::ir {
namespace detail {

/// A sink that counts characters.
struct counting_sink {
  std::size_t size = 0;
  constexpr void put(std::string_view piece) { size += piece.size(); }
};
/// A sink that fills a buffer of the right size.
struct buffer_sink {
  char* begin;
  std::size_t size = 0;
  constexpr void put(std::string_view piece) {
    for (const char c : piece) begin[size++] = c;
  }
};
/// A sink that compares with what is expected.
struct matching_sink {
  std::string_view rest;
  bool matches = true;
  constexpr void put(std::string_view piece) {
    matches = matches && rest.substr(0, piece.size()) == piece;
    rest = rest.substr(piece.size() < rest.size() ? piece.size() : rest.size());
  }
};
/// A sink at run time.
struct string_sink {
  std::string& out;
  void put(std::string_view piece) { out += piece; }
};

/// Six significant digits, as short as they can be: 0.5, 1e-12, 3.14159, inf.
constexpr text number_text(double value) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  text out;
  if (value != value) return out << "nan";
  if (std::bit_cast<std::int64_t>(value) < 0) out << '-';
  double size = value < 0 ? -value : value;
  if (size == infinity) return out << "inf";
  if (size == 0) return out << "0.0";
  int exponent = 0;
  if (size < 1e-4 || size >= 1e7) {
    for (; size >= 10; ++exponent) size /= 10;
    for (; size < 1; --exponent) size *= 10;
  }
  int decimals = 5;  // six digits in all
  for (double power = 10; size >= power && decimals > 0; power *= 10) --decimals;
  for (double power = 1; size < power && decimals < 9; power /= 10) ++decimals;
  std::int64_t scale = 1;
  for (int i = 0; i < decimals; ++i) scale *= 10;
  auto digits = static_cast<std::int64_t>(size * static_cast<double>(scale) + 0.5);
  if (exponent != 0 && digits >= 10 * scale) {  // 9.999999 is 10
    digits /= 10;
    ++exponent;
  }
  out << digits / scale << '.';
  std::int64_t rest = digits % scale;
  do {
    scale /= 10;
    if (scale == 0) break;
    out << static_cast<char>('0' + rest / scale);
    rest %= scale;
  } while (rest != 0);
  if (out.chars[out.size - 1] == '.') out << '0';
  if (exponent != 0) out << 'e' << exponent;
  return out;
}

/// a, b, ..., z, ba, bb, ...: the node's number to the base 26.
constexpr text name_text(int id) {
  char letters[8]{};
  int count = 0;
  do {
    letters[count++] = static_cast<char>('a' + id % 26);
    id /= 26;
  } while (id > 0);
  text out;
  while (count > 0) out << letters[--count];
  return out;
}

constexpr text constant_text(const graph& g, int id) {
  const tensor_type& type = g.type(id);
  text out;
  if (is_floating(type.element)) return out << number_text(g.constant_value(id));
  if (type.element == dtype::boolean) return out << (g.attribute(id) != 0 ? "true" : "false");
  return out << g.attribute(id);
}

constexpr text axes_text(std::int64_t mask) {
  text out = "(";
  for (int i = 0; (mask >> i) != 0; ++i) {
    if (!has_axis(mask, i)) continue;
    if (out.size > 1) out << ',';
    out << i;
  }
  return out << ')';
}
constexpr text list_text(const graph& g, int id, int begin, int end) {
  text out = "(";
  for (int i = begin; i < end; ++i) out << (i > begin ? "," : "") << g.attribute(id, i);
  return out << ')';
}
constexpr text permutation_text(std::int64_t packed, int count) {
  text out = "(";
  for (int i = 0; i < count; ++i) out << (i > 0 ? "," : "") << permuted_axis(packed, i);
  return out << ')';
}

/// `[axes=(1)]`, what stands with the name of the op; empty where there are no attributes.
constexpr text attributes_text(const graph& g, int id) {
  const node& n = g[id];
  text out;
  switch (n.code) {
    case op::iota:
    case op::concatenate:
    case op::cumsum:
    case op::reverse_cumsum:
      return out << "[axis=" << g.attribute(id) << ']';
    case op::polygamma:
      return out << "[order=" << g.attribute(id) << ']';
    case op::cumprod:
    case op::cummax:
    case op::cummin:
    case op::cumlogsumexp:
      return out << "[axis=" << g.attribute(id, 0)
                 << (g.attribute(id, 1) != 0 ? " reversed]" : "]");
    case op::argsort:
      return out << "[axis=" << g.attribute(id, 0)
                 << (g.attribute(id, 1) != 0 ? " descending count=" : " count=")
                 << g.attribute(id, 2) << ']';
    case op::psum:
    case op::pmax:
    case op::pmin:
    case op::axis_index:
    case op::axis_size:
    case op::ppermute:
      return out << "[axis=" << g.axes[g.attribute(id)].view() << ']';
    case op::all_gather:
    case op::psum_scatter:
    case op::all_to_all:
      return out << "[axis=" << g.axes[g.attribute(id)].view()
                 << " dims=" << list_text(g, id, 1, n.num_attributes) << ']';
    case op::triangular_solve: {
      const std::int64_t flags = g.attribute(id);
      return out << ((flags & triangle::lower) != 0 ? "[lower" : "[upper")
                 << ((flags & triangle::transposed) != 0 ? " transposed" : "")
                 << ((flags & triangle::unit) != 0 ? " unit]" : "]");
    }
    case op::threefry:
      return out << "[word=" << g.attribute(id) << ']';
    case op::broadcast:
    case op::reverse:
    case op::reduce_sum:
    case op::reduce_prod:
    case op::reduce_max:
    case op::reduce_min:
    case op::reduce_logsumexp:
    case op::argmax:
    case op::argmin:
      return out << "[axes=" << axes_text(g.attribute(id)) << ']';
    case op::transpose:
      return out << "[order=" << permutation_text(g.attribute(id), n.type.rank()) << ']';
    case op::slice:
      return out << "[start=" << list_text(g, id, 0, n.type.rank())
                 << " stride=" << list_text(g, id, n.type.rank(), 2 * n.type.rank()) << ']';
    case op::pad:
      return out << "[low=" << list_text(g, id, 0, n.type.rank())
                 << " interior=" << list_text(g, id, n.type.rank(), 2 * n.type.rank()) << ']';
    case op::gather:
    case op::scatter_add:
    case op::scatter_max:
      return out << "[axis=" << g.attribute(id, 0) << " batch_dims=" << g.attribute(id, 1)
                 << (static_cast<index_mode>(g.attribute(id, 2)) == index_mode::clip
                         ? " mode=clip]"
                         : " mode=fill]");
    case op::dot: {
      const auto batches = static_cast<int>(g.attribute(id, 0));
      const auto contracts = static_cast<int>(g.attribute(id, 1));
      out << '[';
      if (batches > 0) {
        out << "batch=" << permutation_text(g.attribute(id, 2), batches)
            << permutation_text(g.attribute(id, 3), batches) << ' ';
      }
      return out << "contract=" << permutation_text(g.attribute(id, 4), contracts)
                 << permutation_text(g.attribute(id, 5), contracts) << ']';
    }
    case op::loop: {
      const auto loop = loop_parts::of(g, id);
      out << '[';
      if (loop.trips >= 0) out << "trips=" << loop.trips << ' ';
      if (loop.has(loop_parts::is_reverse)) out << "reverse ";
      if (loop.has(loop_parts::has_count)) out << "count=" << name_text(loop.count()) << ' ';
      if (loop.has(loop_parts::has_predicate)) {
        out << "while=" << name_text(loop.predicate()) << ' ';
      }
      return out << "carries=" << loop.num_carries << ']';
    }
    case op::cond:
      return out << "[branches=" << cond_parts::of(g, id).num_branches << ']';
    case op::enter:
      return out << "[branch=" << g.attribute(id, 2) << ']';
    case op::result_of:
      return out << "[" << g.attribute(id) << "]";
    default:
      return out;
  }
}

/// Constants are written where they are used.
constexpr text operand_text(const graph& g, int id) {
  return g.is_constant(id) ? constant_text(g, id) : name_text(id);
}

/// A loop or cond has no type of its own; its results are read by result_of.
template <class Sink>
constexpr void print_equation(Sink& sink, const graph& g, int id, int depth) {
  const node& n = g[id];
  text line = "    ";
  for (int i = 0; i < depth; ++i) line << "  ";
  line << name_text(id);
  if (!has_regions(n.code)) line << ':' << n.type;
  line << " = " << info(n.code).name << attributes_text(g, id);
  for (int i = 0; i < n.num_operands; ++i) {
    if (line.size > 180) {
      sink.put(line.view());
      line = "";
    }
    line << ' ' << operand_text(g, g.operand(id, i));
  }
  if (n.at.line > 0) line << "   # " << file_name(n.at.file) << ':' << n.at.line;
  line << '\n';
  sink.put(line.view());
}

}  // namespace detail

/// Writes the graph as equations to `sink.put(std::string_view)`.
///
///   { lambda a:f32[8,16]; let
///       b:f32[8,16] = tanh a   # model.cpp:30
///     in b }
///
/// What is inside of a loop or branch stands before it, indented.
/// Names are those of the nodes' numbers, so that two prints of one graph agree. Constants stand
/// where they are used. The position is that of the call that made the node.
/// Cost: O(nodes + edges).
template <class Sink>
constexpr void print_to(Sink& sink, const graph& g) {
  sink.put("{ lambda");
  for (int i = 0; i < g.num_parameters; ++i) {
    const int id = g.parameters[i];
    text piece = " ";
    piece << detail::name_text(id) << ':' << g.type(id);
    sink.put(piece.view());
  }
  sink.put("; let\n");
  scopes inside{};
  if (g.num_regions > 0) inside.extend(g);
  for (int id = 0; id < g.num_nodes; ++id) {
    if (g[id].code == op::parameter || g[id].code == op::constant) continue;
    detail::print_equation(sink, g, id, std::popcount(inside.of[id]));
  }
  sink.put("  in");
  for (int i = 0; i < g.num_outputs; ++i) {
    text piece = " ";
    if (g.outputs[i] < 0) {
      piece << "nothing";
    } else {
      piece << detail::operand_text(g, g.outputs[i]);
    }
    sink.put(piece.view());
  }
  sink.put(" }\n");
}

/// Number of characters that `print_to` writes.
[[nodiscard]] constexpr std::size_t printed_size(const graph& g) {
  detail::counting_sink sink;
  print_to(sink, g);
  return sink.size;
}

/// Writes `printed_size(g)` characters to `out`.
constexpr void print_into(char* out, const graph& g) {
  detail::buffer_sink sink{out};
  print_to(sink, g);
}

/// The graph prints exactly so: for tests at build time.
[[nodiscard]] constexpr bool prints_as(const graph& g, std::string_view expected) {
  detail::matching_sink sink{expected};
  print_to(sink, g);
  return sink.matches && sink.rest.empty();
}

/// The graph as text, at run time.
[[nodiscard]] inline std::string to_text(const graph& g) {
  std::string out;
  detail::string_sink sink{out};
  print_to(sink, g);
  return out;
}

/// The graph for Graphviz: `dot -Tsvg`. Arrows go from a value to its uses.
[[nodiscard]] inline std::string to_dot(const graph& g) {
  std::string out = "digraph program {\n  node [shape=box];\n";
  detail::string_sink sink{out};
  for (int id = 0; id < g.num_nodes; ++id) {
    if (g.is_constant(id)) continue;
    text line = "  n";
    line << id << " [label=\"" << info(g[id].code).name << detail::attributes_text(g, id) << "\\n"
         << g.type(id);
    for (int i = 0; i < g[id].num_operands; ++i) {
      if (g.is_constant(g.operand(id, i))) {
        line << "\\n" << detail::constant_text(g, g.operand(id, i));
      }
    }
    line << "\"];\n";
    sink.put(line.view());
    for (int i = 0; i < g[id].num_operands; ++i) {
      if (g.is_constant(g.operand(id, i))) continue;
      text edge = "  n";
      edge << g.operand(id, i) << " -> n" << id << ";\n";
      sink.put(edge.view());
    }
  }
  for (int i = 0; i < g.num_outputs; ++i) {
    text line = "  out";
    line << i << " [shape=ellipse];\n  n" << g.outputs[i] << " -> out" << i << ";\n";
    sink.put(line.view());
  }
  out += "}\n";
  return out;
}

}  // namespace atled::ir
