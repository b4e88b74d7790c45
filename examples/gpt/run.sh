#!/usr/bin/env bash
# Builds the GPT trainer, trains the smallest preset, prints a sample.
#
#   examples/gpt/run.sh [text file] [option of gpt train]...
#
# Without a text file it trains on this repository's own sources.
set -euo pipefail

data=
if [ $# -gt 0 ] && [ "${1#--}" = "$1" ]; then
  data=$(realpath -- "$1")
  shift
fi
cd "$(dirname "$0")/../.."

cmake/install_dependencies.sh example
cmake --preset release >/dev/null
cmake --build --preset release --target example.gpt

gpt=build/release/examples/gpt/gpt
out=build/release/gpt-nano
mkdir -p "$out"

if [ -z "$data" ]; then
  data=$out/sources.txt
  find include examples tests -name '*.hpp' -o -name '*.cpp' | LC_ALL=C sort | xargs cat >"$data"
fi

"$gpt" train --preset nano --data "$data" --out "$out" "$@"
echo
"$gpt" sample --out "$out" --tokens 500
