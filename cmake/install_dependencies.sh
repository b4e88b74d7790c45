#!/usr/bin/env bash
# Installs what is missing: install_dependencies.sh [example|tests|bench]
#
# On Debian and its kin as root it calls apt-get, and only if something is missing. Elsewhere it
# prints the one line that installs everything, and fails only if a tool is missing.
set -euo pipefail

what=${1:-tests}
case $what in
example) packages=(g++ cmake ninja-build libeigen3-dev libcli11-dev) ;;
tests) packages=(g++ cmake ninja-build libeigen3-dev libcli11-dev ccache clang clang-format libclang-rt-14-dev
  libomp-dev catch2 libopenmpi-dev openmpi-bin) ;;
bench) packages=(g++ cmake ninja-build libeigen3-dev libcli11-dev libbenchmark-dev libopenblas-dev libopenmpi-dev openmpi-bin) ;;
*)
  echo "install_dependencies.sh: $what: must be example, tests or bench" >&2
  exit 2
  ;;
esac

system=unknown
if [ -r /etc/os-release ]; then
  system=$(. /etc/os-release && echo "${ID:-} ${ID_LIKE:-}")
elif [ "$(uname -s)" = Darwin ]; then
  system=macos
fi

case " $system " in
*" debian "* | *" ubuntu "*)
  missing=()
  for package in "${packages[@]}"; do
    if [ "$(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null)" != "ii " ]; then
      missing+=("$package")
    fi
  done
  [ ${#missing[@]} -gt 0 ] || exit 0
  line="apt-get install -y --no-install-recommends ${missing[*]}"
  if [ "$(id -u)" -eq 0 ]; then
    echo "installing: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq </dev/null
    $line -qq </dev/null
    exit 0
  fi
  echo "not installed: ${missing[*]}; install with: sudo $line" >&2
  exit 1
  ;;
*" fedora "* | *" rhel "*)
  line="sudo dnf install gcc-c++ clang cmake ninja-build ccache eigen3-devel cli11-devel catch-devel libomp-devel compiler-rt openmpi-devel"
  ;;
*" arch "*)
  line="sudo pacman -S --needed gcc clang cmake ninja ccache eigen cli11 catch2 openmp openmpi"
  ;;
*" suse "*)
  line="sudo zypper install gcc-c++ clang cmake ninja ccache eigen3-devel cli11-devel Catch2-devel libomp-devel openmpi-devel"
  ;;
" macos ")
  line="brew install gcc llvm cmake ninja ccache eigen cli11 catch2 libomp open-mpi"
  ;;
*)
  line="a C++20 compiler (g++ 12 or clang 14 or newer), cmake 3.25, ninja, Eigen 3.4, CLI11, Catch2, OpenMP, MPI"
  ;;
esac
echo "to install what atled needs: $line" >&2
for tool in cmake ninja g++; do
  if ! command -v "$tool" >/dev/null; then
    echo "not found: $tool" >&2
    exit 1
  fi
done
