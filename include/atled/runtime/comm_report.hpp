// atled/runtime/comm_report.hpp: the collectives of a program as text, for reading.
// Reads: runtime/regions.hpp. Called by transform/program.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/runtime/regions.hpp"

#include <string>

namespace atled::runtime {

namespace detail {

inline void add_comm_report(std::string& out, const frozen_program& p, const mesh_shape& mesh,
                            const std::string& around) {
  for (int i = 0; i < p.num_steps; ++i) {
    const frozen_step& s = p.steps[i];
    if (s.region >= 0) {
      const region_call& call = p.regions[s.region];
      std::string inside = around;
      if (call.code == op::loop) {
        inside += call.trips < 0 ? ", a trip" : ", " + std::to_string(call.trips) + " times";
      }
      for (int part = 0; part < call.num_parts; ++part) {
        add_comm_report(
            out, *call.parts[part], mesh,
            call.code == op::cond ? around + ", in branch " + std::to_string(part) : inside);
      }
    }
    if (s.collective < 0) continue;
    const collective_call& c = p.collectives[s.collective];
    if (!c.is_sent()) continue;
    text line;
    line << info(c.code).name << ' ' << c.type << " over " << mesh.name(c.axis) << ": " << c.bytes
         << " bytes";
    out += std::string(line.view()) + around + ", " + std::string(file_name(c.at.file)) + ":" +
           std::to_string(c.at.line) + "\n";
  }
}

}  // namespace detail

/// `psum f32[784,128] over data: 802816 bytes, train.cpp:30`, one line a collective, in the order
/// in which they run.
///
/// Units: bytes of operand and result together, in one call.
[[nodiscard]] inline std::string comm_report(const frozen_program& p, const mesh_shape& mesh) {
  std::string out;
  detail::add_comm_report(out, p, mesh, "");
  return out;
}

}  // namespace atled::runtime
