#!/usr/bin/env bash
# Everything about Triton kernels that only a graphics card can show, in one call: what the first launch of a program costs, the kernels of shaders/ on
# the card's CUDA and Vulkan devices, what Triton and PyTorch take for the same jobs in the same run, matrix products in several blocks, and what the
# tests find there. Each part has a limit of its own, and one that fails or takes too long ends no other.
#
#   benches/tile/card.sh GIRIH OUT [SUITE] [TUTORIALS]
#
# GIRIH is the release binary and OUT a folder for the full logs. SUITE is the test binary of tests/suite (cargo test
# --release --test suite --no-run), TUTORIALS the folder `python/tutorials` of a checkout of Triton. Nothing is built. PARTS names the parts (launches bench
# rivals blocks tests), ONLY the kernels that are measured (words of their names), and SECONDS_EACH is the limit of a measuring command.
set -uo pipefail
girih=$(realpath "$1") out=$2 suite=${3:-} tutorials=${4:-}
parts=${PARTS:-launches bench rivals blocks tests} each=${SECONDS_EACH:-120}
only=()
for word in ${ONLY:-}; do only+=(--only "$word"); done
[ -n "$suite" ] && suite=$(realpath "$suite")
[ -n "$tutorials" ] && tutorials=$(realpath "$tutorials")
mkdir -p "$out"
out=$(realpath "$out")
cd "$(dirname "$0")/../.." || exit 1
# What drivers have compiled is kept for the run, and nothing from before it.
GIRIH_CACHE=$(mktemp -d)
export GIRIH_CACHE
trap 'rm -rf "$GIRIH_CACHE"' EXIT

part() {
  case " $parts " in *" $1 "*) printf '\n== %s (%s s)\n' "$1" "$SECONDS" ;; *) return 1 ;; esac
}

# Prints the end of what a command has said if it failed.
ended() { # code log
  [ "$1" -eq 0 ] || { echo "exit $1:"; tail -n 4 "$2" | cut -c1-200; }
}

softmax=(shaders/softmax.py::softmax --grid 64 --arg "out_ptr=zeros(f32,64x1024)" --arg "in_ptr=zeros(f32,64x1024)" --arg row_stride=1024
  --arg out_stride=1024 --arg rows=64 --arg columns=1024 --arg BLOCK=1024)

matmul_arguments() { # element size rows columns depth warps
  local n=$2 precision=ieee element=$1
  case $1 in tf32*) precision=$1 element=f32 ;; esac
  echo shaders/matmul.py::matmul --grid "$(((n / $3) * (n / $4)))" --num-warps "$6" \
    --arg "a_ptr=zeros($element,${n}x$n)" --arg "b_ptr=zeros($element,${n}x$n)" --arg "c_ptr=zeros($element,${n}x$n)" \
    --arg "PRECISION=$precision" --arg "m=$n" --arg "n=$n" --arg "k=$n" --arg "stride_am=$n" --arg stride_ak=1 --arg "stride_bk=$n" --arg stride_bn=1 \
    --arg "stride_cm=$n" --arg stride_cn=1 --arg "BLOCK_M=$3" --arg "BLOCK_N=$4" --arg "BLOCK_K=$5" --arg GROUP=8
}

# From the source to the result, in a process of its own: first without a cache, then twice with what the first run has left there.
first() { # device name arguments..
  local device=$1 name=$2 cache run code
  shift 2
  cache=$(mktemp -d)
  for run in cold warm again; do
    GIRIH_CACHE=$cache timeout 30 "$girih" launch "$@" --device "$device" --time -v >"$out/first.txt" 2>&1
    code=$?
    echo "$device $name $run: $(grep -oE 'from the source.*|reading .*|the run .*|a launch takes.*|the device is open.*' "$out/first.txt" | tr '\n' ';')"
    ended $code "$out/first.txt"
  done
  rm -rf "$cache"
}

if part launches; then
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  for device in cuda wgpu:NVIDIA; do
    first $device softmax "${softmax[@]}"
    # shellcheck disable=SC2046
    first $device matmul $(matmul_arguments f16 1024 128 128 32 8)
  done
fi

bench() { # device
  local name=${1%%:*} code
  timeout "$each" "$girih" bench tile --device "$1" --samples "${SAMPLES:-15}" --output "$out/bench-$name" "${only[@]}" \
    >"$out/bench-$name.txt" 2>&1
  code=$?
  echo "$1:"
  grep -vE '^ *$' "$out/bench-$name.txt" | cut -c1-110
  ended $code "$out/bench-$name.txt"
}
if part bench; then
  bench cuda
  bench wgpu:NVIDIA
fi

if part rivals; then
  ours=$(ls "$out"/bench-cuda/*.json 2>/dev/null | head -1)
  timeout "$each" python3 benches/tile/rivals.py "$girih" ${ours:+--ours "$ours"} "${only[@]}" >"$out/rivals.txt" 2>&1
  code=$?
  cut -c1-120 "$out/rivals.txt"
  [ $code -eq 0 ] || echo "exit $code"
fi

matmul() { # device element size rows columns depth warps
  printf '%-12s %s %s, blocks %sx%sx%s, warps %s: ' "$@"
  # shellcheck disable=SC2046
  timeout 30 "$girih" launch $(matmul_arguments "${@:2}") --device "$1" --time 2>&1 | grep -oE 'median.*|error.*' | head -1 || echo "nothing"
}
if part blocks; then
  for blocks in "128 128 32 8" "128 128 64 8" "128 256 32 8"; do
    # shellcheck disable=SC2086
    matmul wgpu:NVIDIA f16 4096 $blocks
  done
  for blocks in "128 128 32 8" "128 128 32 4" "128 256 32 8"; do
    # shellcheck disable=SC2086
    matmul cuda tf32 4096 $blocks
    # shellcheck disable=SC2086
    matmul cuda tf32x3 4096 $blocks
  done
  for blocks in "128 128 16 8" "128 128 32 8" "128 256 32 8"; do
    for device in cuda wgpu:NVIDIA; do
      # shellcheck disable=SC2086
      matmul "$device" f32 4096 $blocks
    done
  done
fi

if [ -n "$suite" ] && part tests; then
  for device in cuda wgpu:NVIDIA; do
    for name in tiles operations tutorials; do
      GIRIH_DEVICE=$device GIRIH_TRITON_TUTORIALS=$tutorials \
        timeout "${SECONDS_TESTS:-280}" "$suite" "$name::" --nocapture >"$out/$name-${device%%:*}.txt" 2>&1 &
    done
  done
  # Those above, and nothing else, run behind this script.
  wait
  for log in "$out"/{tiles,operations,tutorials}-*.txt; do
    [ -f "$log" ] || continue
    echo "$(basename "$log" .txt): $(grep -E '^test result' "$log" | tail -1 || echo 'no result within the limit')"
    grep -hE 'skipped|FAILED|panicked' "$log" | cut -c1-200 | head -6
  done
fi
printf '\n== end (%s s)\n' "$SECONDS"
