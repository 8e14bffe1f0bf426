#!/usr/bin/env bash
# Everything that only a graphics card can show, in one call: the conformance suite on its CUDA and Vulkan devices, the IR's benchmarks, and what
# others reach at the same jobs in the same run.
#
#   benches/ir/card.sh GIRIH SUITE OUT [RANDOM]
#
# GIRIH is the release binary, SUITE the test binary of tests/suite (cargo test --release --test suite --no-run), OUT a folder for the full
# logs, RANDOM the number of random kernels. Nothing is built but the CUDA C of the rivals.
set -uo pipefail
girih=$1 suite=$2 out=$3 random=${4:-2000}
cd "$(dirname "$0")/../.."
export GIRIH_CACHE=""

part() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

part "devices"
"$girih" devices | tee "$out/devices.txt"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader

# The table and the programs, and the random kernels in eight processes, whose compilers keep a processor core each busy.
part "conformance"
conform() { # device log arguments..
  local device=$1 log=$out/conform-${1%%:*}-$2.txt
  shift 2
  timeout 500 "$girih" conform --device "$device" "$@" >"$log" 2>&1
  echo "exit $?" >>"$log"
}
for device in cuda:0 wgpu:NVIDIA; do
  conform "$device" table --programs tests/ir --random 0 &
  for seed in 1 2 3 4 5 6 7 8; do
    conform "$device" "random-$seed" --no-table --random $((random / 8)) --seed "$seed" --pack 32 random &
  done
done
wait
for log in "$out"/conform-*.txt; do
  echo "$(basename "$log" .txt): $(grep ' passed ' "$log" | tail -1) $(tail -1 "$log")"
  grep -v ' passed ' "$log" | grep -v '^exit' | cut -c1-230 | head -12
done

bench() { # device kernel arguments..
  local device=$1 kernel=$2
  shift 2
  printf '%-12s %-40s ' "$device" "$kernel"
  timeout 100 "$girih" run "benches/ir/$kernel" --device "$device" --time "$@" 2>&1 | grep -E 'median|error' | head -2
}
part "benchmarks"
for device in cuda:0 wgpu:NVIDIA; do
  bench "$device" vector_add.gir --arg 'x=zeros(f32,268435456)' --arg 'y=zeros(f32,268435456)' --arg 'z=zeros(f32,268435456)' --arg n=268435456
  bench "$device" mandelbrot.gir --arg 'counts=zeros(u32,256x256)' --arg size=256 --arg limit=1000
  bench "$device" tile_matmul.gir --arg 'a=zeros(f32,4096x4096)' --arg 'b=zeros(f32,4096x4096)' --arg 'c=zeros(f32,4096x4096)' --arg n=4096
done

part "proofs"
timeout 250 "$suite" proofs:: --include-ignored --nocapture --test-threads 1 >"$out/proofs.txt" 2>&1
grep -vE '^$|^running|lacks' "$out/proofs.txt" | cut -c1-200 | tail -50

part "rivals"
timeout 150 python3 benches/ir/rivals.py --json "$out/rivals.json" 2>&1 | tail -20
part "end"
