#!/usr/bin/env bash
# Installs what is missing, builds the tests, runs them: g++ for this machine, then clang++ with
# sanitizers where lifetimes are at stake, then clang++ for the oldest machine.
#
#   tests/run.sh [preset]...     only these presets of: test asan test-clang
set -euo pipefail
cd "$(dirname "$0")/.."

jobs=$(nproc 2>/dev/null || echo 2)
presets=("$@")
[ ${#presets[@]} -gt 0 ] || presets=(test asan test-clang)

cmake/install_dependencies.sh tests

for preset in "${presets[@]}"; do
  start=$SECONDS
  echo "== $preset: configure and build"
  cmake --preset "$preset" --fresh -Wno-dev >/dev/null </dev/null
  cmake --build --preset "$preset" -j "$jobs" -- -k 0 </dev/null
  echo "== $preset: built in $((SECONDS - start)) s; tests"
  ctest --preset "$preset" -j "$jobs" </dev/null
done
