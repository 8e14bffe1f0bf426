#!/usr/bin/env bash
# Everything about Triton kernels that only a graphics card can show, in one call: the kernels of shaders/ on its CUDA and Vulkan devices, what Triton
# and PyTorch take for the same jobs in the same run, matrix products in several blocks, what the first launch of a program costs, and what the tests
# find there.
#
#   benches/tile/card.sh GIRIH OUT [TESTS] [TUTORIALS]
#
# GIRIH is the release binary and OUT a folder for the full logs. TESTS is a folder with the test binaries `tiles`, `operations` and `tutorials` (cargo
# test --release --no-run), TUTORIALS the folder `python/tutorials` of a checkout of Triton. Nothing is built.
set -uo pipefail
girih=$1 out=$2 tests=${3:-} tutorials=${4:-}
cd "$(dirname "$0")/../.."
mkdir -p "$out"
export GIRIH_CACHE=""

part() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

part "devices"
"$girih" devices | tee "$out/devices.txt"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader

# What is measured has the card to itself; the tests come after it.
part "benchmarks"
for device in cuda wgpu:NVIDIA; do
  name=${device%%:*}
  timeout 120 "$girih" bench tile --device "$device" --samples 20 >"$out/bench-$name.txt" 2>&1
  echo "$device: exit $?"
  cut -c1-120 "$out/bench-$name.txt"
done

part "rivals"
timeout 200 python3 benches/tile/rivals.py "$girih" >"$out/rivals.txt" 2>&1
echo "exit $?"
cut -c1-120 "$out/rivals.txt"

matmul() { # device element size rows columns depth warps
  local n=$3 programs=$((($3 / $4) * ($3 / $5)))
  printf '%-12s %s %s, blocks %sx%sx%s, warps %s: ' "$@"
  timeout 60 "$girih" launch shaders/matmul.py::matmul --device "$1" --grid "$programs" --num-warps "$7" --time \
    --arg "a_ptr=zeros($2,${n}x$n)" --arg "b_ptr=zeros($2,${n}x$n)" --arg "c_ptr=zeros($2,${n}x$n):$out/c.npy" \
    --arg "m=$n" --arg "n=$n" --arg "k=$n" --arg "stride_am=$n" --arg stride_ak=1 --arg "stride_bk=$n" --arg stride_bn=1 \
    --arg "stride_cm=$n" --arg stride_cn=1 --arg "BLOCK_M=$4" --arg "BLOCK_N=$5" --arg "BLOCK_K=$6" --arg GROUP=8 2>&1 |
    grep -oE 'median.*|error.*' | head -1
  rm -f "$out/c.npy"
}
part "blocks of matrix products"
for blocks in "128 128 32 4" "128 128 32 8" "128 64 32 4" "64 64 32 4" "128 128 64 4"; do
  # shellcheck disable=SC2086
  matmul wgpu:NVIDIA f16 4096 $blocks
done
for blocks in "128 128 16 8" "128 128 32 8" "64 64 32 4" "128 64 16 4"; do
  for device in cuda wgpu:NVIDIA; do
    # shellcheck disable=SC2086
    matmul "$device" f32 4096 $blocks
  done
done

# From the source to the result, in a process of its own: first without a cache, then with what the first run has left there.
part "first launches"
for device in cuda wgpu:NVIDIA; do
  cache=$(mktemp -d)
  for run in cold warm; do
    begun=$(date +%s%N)
    GIRIH_CACHE=$cache timeout 60 "$girih" launch shaders/softmax.py::softmax --device "$device" --grid 64 \
      --arg "out_ptr=zeros(f32,64x1024):$out/o.npy" --arg "in_ptr=zeros(f32,64x1024)" --arg row_stride=1024 --arg out_stride=1024 \
      --arg rows=64 --arg columns=1024 --arg BLOCK=1024 >"$out/first.txt" 2>&1
    echo "$device $run: exit $?, $((($(date +%s%N) - begun) / 1000000)) ms"
  done
  rm -rf "$cache" "$out/o.npy"
done

if [ -n "$tests" ]; then
  part "tests"
  for device in cuda wgpu:NVIDIA; do
    for name in tiles operations tutorials; do
      GIRIH_DEVICE=$device GIRIH_TRITON_TUTORIALS=$tutorials \
        timeout 280 "$tests/$name" --nocapture >"$out/$name-${device%%:*}.txt" 2>&1 &
    done
  done
  wait
  for log in "$out"/{tiles,operations,tutorials}-*.txt; do
    echo "$(basename "$log" .txt): $(grep -E '^test result' "$log" | tail -1)"
    grep -hE 'skipped|FAILED|panicked' "$log" | cut -c1-200 | head -6
  done
fi
part "end"
