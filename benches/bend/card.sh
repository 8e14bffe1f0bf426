#!/usr/bin/env bash
# Everything about Bend that only a graphics card can show, in one call: what the tests find there, the benchmarks, and what upstream's own CUDA
# programs and others written by hand take for the same jobs in the same run.
#
#   benches/bend/card.sh GIRIH OUT [SUITE] [CUDA]
#
# GIRIH is the release binary and OUT a folder for the full logs. SUITE is the test binary of tests/suite
# (cargo test --release --test suite --no-run), CUDA one with CUDA programs: NAME.cu from `bend gen-cu NAME.bend`, of the programs in benches/bend with the
# argument written into them, and any other .cu file, each of which says itself how long it took. PROGRAMS says how many random programs the
# tests try on each device. Nothing is built but these CUDA programs, by nvcc.
set -uo pipefail
girih=$1 out=$2 suite=${3:-} cuda=${4:-} programs=${PROGRAMS:-1000}
cd "$(dirname "$0")/../.."
mkdir -p "$out"
export GIRIH_CACHE=""

part() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

part "devices"
"$girih" devices | tee "$out/devices.txt"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader

# What is measured has the card to itself; the tests come after it.
part "benchmarks"
for device in cuda wgpu; do
  timeout 150 "$girih" bench bend --device "$device" --samples 15 --output "$out/bench-$device" >"$out/bench-$device.txt" 2>&1
  echo "$device: exit $?"
  cut -c1-150 "$out/bench-$device.txt"
done

if [ -n "$cuda" ]; then
  part "rivals"
  for source in "$cuda"/*.cu; do
    name=$(basename "$source" .cu)
    if ! nvcc -O3 -arch=native -o "$out/$name" "$source" 2>"$out/$name.err"; then
      echo "$name: nvcc refuses it, see $name.err"
      continue
    fi
    for _ in 1 2 3; do
      timeout 60 "$out/$name" >"$out/$name.txt" 2>&1
      printf '%-24s exit %s: %s\n' "$name" "$?" "$(grep -iE 'time|ms|result' "$out/$name.txt" | head -8 | tr '\n' ' ' | cut -c1-300)"
    done
    rm -f "$out/$name"
  done
fi

if [ -n "$suite" ]; then
  part "tests"
  for device in cuda wgpu:NVIDIA; do
    name=${device%%:*}
    GIRIH_FLATTEN_DEVICE=$device GIRIH_FLATTEN_RANDOM=$programs \
      timeout 280 "$suite" --nocapture flatten:: >"$out/flatten-$name.txt" 2>&1 &
    GIRIH_REDUCER_DEVICE=$device GIRIH_REDUCER_RANDOM=$programs \
      timeout 280 "$suite" --nocapture reducer:: >"$out/reducer-$name.txt" 2>&1 &
    for first in 0 1 2 3; do
      GIRIH_DEVICE=$device GIRIH_DEVICE_PROGRAMS=$((programs / 4)) GIRIH_DEVICE_FIRST=$((first * programs / 4)) \
        timeout 280 "$suite" --nocapture devices:: >"$out/devices-$name-$first.txt" 2>&1 &
    done
  done
  wait
  for log in "$out"/{flatten,reducer,devices}-*.txt; do
    echo "$(basename "$log" .txt): $(grep -E '^test result' "$log" | tail -1)"
    grep -hE 'are the same|FAILED|panicked' "$log" | cut -c1-200 | head -6
  done
fi
part "end"
