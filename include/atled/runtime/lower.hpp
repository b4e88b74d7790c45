// atled/runtime/lower.hpp: kernels of a plan become types, and types become functions.
// Reads: passes/plan.hpp, loops/, kernels/. Next: transform/program.hpp.
//
// A kernel's type says what is computed, never sizes: equal groups of any shape, in any program,
// are one function. Sizes come with each launch, in `step_data`.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/kernels/cumulative.hpp"
#include "atled/kernels/decomposition.hpp"
#include "atled/kernels/gemm.hpp"
#include "atled/kernels/index.hpp"
#include "atled/kernels/sort.hpp"
#include "atled/loops/epilogue.hpp"
#include "atled/loops/parallel.hpp"
#include "atled/passes/plan.hpp"
#include "atled/runtime/term_types.hpp"

#include <cstring>
#include <type_traits>
#include <utility>

namespace atled::runtime {

/// What one launch of a kernel needs besides memory. Tables lie beside it in the program.
struct step_data {
  loops::loop_shape loop;
  kernels::gemm_shape gemm;
  const std::int64_t* strides;
  const std::int64_t* partial_sizes;
  const std::int64_t* numbers;  ///< sizes and modes of kernels of one op
  bool is_parallel;
};

/// `slots` are the step's operands and results in order.
using kernel_function = void (*)(const step_data&, std::byte* const* slots, std::byte* workspace,
                                 int threads);

namespace detail {

template <class Loop>
void run_loop(const step_data& data, std::byte* const* slots, std::byte* workspace, int threads) {
  Loop::run(data.loop, slots, data.partial_sizes, workspace, data.is_parallel ? threads : 1);
}

// Products of 16-bit floats are summed as f32.
template <class T>
using accumulator_of = std::conditional_t<half_float<T>, f32, T>;

template <class T, class Epilogue>
void run_dot(const step_data& data, std::byte* const* slots, std::byte* workspace, int threads) {
  using sum = accumulator_of<T>;
  const loops::epilogue_call call{{data.strides}, slots};
  const loops::erased_epilogue<sum> epilogue{&call, &Epilogue::run, &Epilogue::prefetch};
  kernels::gemm<sum>(data.gemm, reinterpret_cast<const T*>(slots[0]),
                     reinterpret_cast<const T*>(slots[1]), epilogue, workspace, threads);
}

// The product alone: tiles write to memory directly.
template <class T>
void run_plain_dot(const step_data& data, std::byte* const* slots, std::byte* workspace,
                   int threads) {
  using sum = accumulator_of<T>;
  const std::int64_t* strides = data.strides + 10;
  const kernels::store_epilogue<T> epilogue{
      reinterpret_cast<T*>(slots[2]), strides[3], {strides[0], strides[1], strides[2]}};
  kernels::gemm<sum>(data.gemm, reinterpret_cast<const T*>(slots[0]),
                     reinterpret_cast<const T*>(slots[1]), epilogue, workspace, threads);
}

template <class T, class Index>
void run_gather(const step_data& data, std::byte* const* slots, std::byte*, int) {
  const std::int64_t* n = data.numbers;
  const kernels::gather_shape shape{n[0], n[1], n[2], n[3], n[4], n[5] == 0};
  kernels::gather(shape, reinterpret_cast<const T*>(slots[0]),
                  reinterpret_cast<const Index*>(slots[1]), reinterpret_cast<T*>(slots[2]));
}
template <op Code, class T, class Index>
void run_scatter(const step_data& data, std::byte* const* slots, std::byte*, int) {
  const std::int64_t* n = data.numbers;
  const kernels::gather_shape shape{n[0], n[1], n[2], n[3], n[4], n[5] == 0};
  using meet = std::conditional_t<Code == op::scatter_add, kernels::meet_added, kernels::meet_max>;
  kernels::scatter<meet>(shape, reinterpret_cast<const Index*>(slots[0]),
                         reinterpret_cast<const T*>(slots[1]), reinterpret_cast<T*>(slots[2]));
}

consteval kernels::decomposition decomposition_of(op code) {
  using enum kernels::decomposition;
  return code == op::cholesky ? cholesky
         : code == op::lu     ? lu
         : code == op::qr     ? qr
         : code == op::eigh   ? eigh
         : code == op::svd    ? svd
                              : triangular_solve;
}

template <op Code, class T>
void run_decomposition(const step_data& data, std::byte* const* slots, std::byte*, int threads) {
  using kernel = kernels::decomposer<decomposition_of(Code), T>;
  static_assert(kernels::is_defined<kernel>,
                "atled: linear algebra has a header of its own; include atled/linalg.hpp");
  if constexpr (kernels::is_defined<kernel>) {
    struct call {
      const std::int64_t* numbers;
      std::byte* const* slots;
    };
    const auto one_matrix = [](const void* context, std::int64_t i) {
      const auto& c = *static_cast<const call*>(context);
      const std::int64_t* n = c.numbers;
      const kernels::matrix_shape s{i, i + 1, n[1], n[2], n[3]};
      const T* in = reinterpret_cast<const T*>(c.slots[0]);
      if constexpr (Code == op::triangular_solve) {
        kernel::run(s, in, reinterpret_cast<const T*>(c.slots[1]),
                    reinterpret_cast<T*>(c.slots[2]));
      } else {
        kernel::run(s, in, reinterpret_cast<T*>(c.slots[1]));
      }
    };
    const kernels::one_thread_for_each<kernels::is_defined<kernel>> serial{};
    const call each{data.numbers, slots};
    loops::for_each_piece(one_matrix, &each, data.numbers[0], threads);
    static_cast<void>(serial);
  }
}

// A host function, once for each lane: operands that move with them, and the result, go on; or the
// one that takes all lanes.
template <auto One, auto Many>
void run_external(const step_data& data, std::byte* const* slots, std::byte*, int) {
  const std::int64_t* n = data.numbers;
  const std::byte* in[passes::most_host_arguments];
  if constexpr (Many != nullptr) {
    if (n[0] != 1) {
      for (std::int64_t i = 0; i < n[1]; ++i) in[i] = slots[i];
      if (n[0] > 0) Many(n[0], in, n + 3, slots[n[1]]);
      return;
    }
  }
  for (std::int64_t call = 0; call < n[0]; ++call) {
    for (std::int64_t i = 0; i < n[1]; ++i) in[i] = slots[i] + call * n[3 + i];
    One(in, slots[n[1]] + call * n[2]);
  }
}

template <op Code, class T, class Index>
void run_generic(const step_data& data, std::byte* const* slots,
                 [[maybe_unused]] std::byte* workspace, int) {
  const std::int64_t* n = data.numbers;
  if constexpr (Code == op::cumsum || Code == op::reverse_cumsum) {
    kernels::cumulative<kernels::combine_sum>(n[0], n[1], n[2], Code == op::reverse_cumsum,
                                              reinterpret_cast<const T*>(slots[0]),
                                              reinterpret_cast<T*>(slots[1]));
  } else if constexpr (Code == op::cumlogsumexp) {
    kernels::cumulative_logsumexp(n[0], n[1], n[2], n[3] != 0, reinterpret_cast<const T*>(slots[0]),
                                  reinterpret_cast<T*>(slots[1]));
  } else if constexpr (info(Code).kind == op_kind::cumulative) {
    using combine = std::conditional_t<
        Code == op::cumprod, kernels::combine_product,
        std::conditional_t<Code == op::cummax, kernels::combine_max, kernels::combine_min>>;
    kernels::cumulative<combine>(n[0], n[1], n[2], n[3] != 0, reinterpret_cast<const T*>(slots[0]),
                                 reinterpret_cast<T*>(slots[1]));
  } else if constexpr (Code == op::argmax || Code == op::argmin) {
    kernels::arg_extremum(n[0], n[1], n[2], Code == op::argmax,
                          reinterpret_cast<const T*>(slots[0]), reinterpret_cast<i32*>(slots[1]));
  } else if constexpr (Code == op::argsort) {
    kernels::argsort(kernels::sort_shape{n[0], n[1], n[2], n[4], n[3] != 0},
                     reinterpret_cast<const T*>(slots[0]), reinterpret_cast<i32*>(slots[1]),
                     workspace);
  } else if constexpr (Code == op::external_result) {
    for (std::int64_t row = 0; row < n[0]; ++row) {
      std::memcpy(slots[1] + row * n[3], slots[0] + row * n[1] + n[2],
                  static_cast<std::size_t>(n[3]));
    }
  } else if constexpr (Code == op::dynamic_slice) {
    const auto rank = static_cast<int>(n[0]);
    kernels::move_box<T, Index>(rank, n + 1, n + 1 + rank, slots + 1,
                                reinterpret_cast<const T*>(slots[0]),
                                reinterpret_cast<T*>(slots[1 + rank]), true);
  } else {
    static_assert(Code == op::dynamic_update_slice, "atled: an op without a kernel");
    const auto rank = static_cast<int>(n[0]);
    kernels::move_box<T, Index>(rank, n + 1, n + 1 + rank, slots + 1,
                                reinterpret_cast<const T*>(slots[0]),
                                reinterpret_cast<T*>(slots[1 + rank]), false);
  }
}

/// A dot whose epilogue only stores the sums side by side.
[[nodiscard]] consteval bool is_plain_dot(const passes::plan& plan, const passes::kernel& k) {
  if (k.size != 2) return false;
  const passes::instruction& sum = plan.instructions[k.begin];
  const passes::instruction& store = plan.instructions[k.begin + 1];
  return sum.kind == passes::instruction_kind::accumulator &&
         store.kind == passes::instruction_kind::store && store.walk == passes::access::unit &&
         store.element == k.element && !is_half(k.element);
}

template <class Program, int Kernel>
consteval kernel_function function_for() {
  constexpr passes::kernel k = Program::plan.kernels[Kernel];
  using T = element_t<k.element>;
  using Index = element_t<k.index>;
  if constexpr (k.kind == passes::kernel_kind::region ||
                k.kind == passes::kernel_kind::collective) {
    return nullptr;  // see runtime/regions.hpp, runtime/collective.hpp
  } else if constexpr (k.kind == passes::kernel_kind::gather) {
    return &run_gather<T, Index>;
  } else if constexpr (k.kind == passes::kernel_kind::scatter) {
    return &run_scatter<k.code, T, Index>;
  } else if constexpr (k.kind == passes::kernel_kind::generic &&
                       info(k.code).kind == op_kind::linear) {
    return &run_decomposition<k.code, T>;
  } else if constexpr (k.kind == passes::kernel_kind::generic && k.code == op::external) {
    constexpr auto which = static_cast<int>(Program::plan.instructions[k.begin].bits);
    constexpr ir::external_function code = Program::kernel_graph().externals[which];
    return &run_external<code.one, code.many>;
  } else if constexpr (k.kind == passes::kernel_kind::generic) {
    return &run_generic<k.code, T, Index>;
  } else if constexpr (k.kind == passes::kernel_kind::dot && is_plain_dot(Program::plan, k)) {
    return &run_plain_dot<T>;
  } else {
    using slots = typename decltype(slots_type<Program, Kernel>(
        std::make_index_sequence<static_cast<std::size_t>(k.num_slots)>{}))::type;
    using terms = typename decltype(terms_type<Program, Kernel>(
        std::make_index_sequence<static_cast<std::size_t>(k.size)>{}))::type;
    constexpr int lanes = lanes_of<Program, Kernel>();
    if constexpr (k.kind == passes::kernel_kind::dot) {
      return &run_dot<T, loops::fused_epilogue<lanes, accumulator_of<T>, slots, terms>>;
    } else {
      return &run_loop<loops::fused_loop<lanes, slots, terms>>;
    }
  }
}

}  // namespace detail

}  // namespace atled::runtime
