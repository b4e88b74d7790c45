#!/usr/bin/env bash
# Builds the GPT trainer, trains the smallest preset, prints a sample.
#
#   examples/gpt/run.sh [text file] [option of gpt train]...
#
# Without a text file it trains on the library's own sources.
set -euo pipefail

data=()
if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then
  data=(--data "$(realpath -- "$1")")
  shift
fi
cd "$(dirname "$0")/../.."

cmake/install_dependencies.sh example
cmake --preset release -D ATLED_GPT_PRESETS="nano;nano_128" >/dev/null
cmake --build --preset release --target example.gpt

gpt=build/release/examples/gpt/gpt
out=build/release/gpt-nano
"$gpt" train --preset nano --out "$out" --overwrite "${data[@]}" "$@"
echo
"$gpt" sample --out "$out" --tokens 500
