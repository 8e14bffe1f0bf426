#!/usr/bin/env bash
# Everything of interaction nets that only a graphics card can show, in one call of at most five minutes: the tests of nets on its CUDA and Vulkan
# devices, the benchmark of nets beside upstream's machine where that is on the path, the counters of large nets, and what the memory error costs.
#
#   benches/net/card.sh GIRIH SUITE OUT
#
# GIRIH is the release binary, SUITE the test binary of tests/suite (cargo test --release --test suite --no-run), OUT a folder for the full logs. Nothing
# is built.
set -uo pipefail
girih=$(realpath "$1") suite=$(realpath "$2") out=$3
mkdir -p "$out" && out=$(realpath "$out")
cd "$(dirname "$0")/../.."
export GIRIH_CACHE="" GIRIH_REQUIRE_CUDA=1

part() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

part "devices"
"$girih" devices | tee "$out/devices.txt"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader

# Normal forms and counts by rule, of .hvm files, random nets and Bend programs, with errors, effects and one net without an end.
part "tests"
run() { # name limit arguments..
  local name=$1 limit=$2
  shift 2
  timeout "$limit" "$@" >"$out/$name.txt" 2>&1
  printf '%-18s exit %s, %s\n' "$name" "$?" "$(grep -E '^test result|panicked' "$out/$name.txt" | tail -1 | cut -c1-160)"
  grep -E ' differ:|: [0-9]+ differ|assertion|only [0-9]+ programs' "$out/$name.txt" | cut -c1-300 | head -5
}
run nets_on_devices 60 "$suite" nets_on_devices::cards_give_it --nocapture &
run nets 75 "$suite" nets::cards_give_what_the_host_gives --nocapture &
wait

part "benchmark"
for device in cuda:0 wgpu:NVIDIA; do
  timeout 70 "$girih" bench net --device "$device" --rivals --samples 3 --output "$out/net-${device%%:*}" >"$out/net-${device%%:*}.txt" 2>&1
  printf '%s: exit %s\n' "$device" "$?"
  cut -c1-200 "$out/net-${device%%:*}.txt"
done

# Supersteps, lanes and reclaims of the largest nets.
part "statistics"
for net in sum:28 bitonic:20; do
  sed "s/@start ~ ([0-9]* a)/@start ~ (${net#*:} a)/" "benches/net/${net%:*}.hvm" >"$out/${net%:*}.hvm"
  for device in cuda:0 wgpu:NVIDIA; do
    printf '%s on %s: ' "$net" "$device"
    timeout 15 "$girih" run "$out/${net%:*}.hvm" --device "$device" --stats 2>&1 | tr '\n' ' ' | cut -c1-400
    echo
  done
done

# One net grows at one place alone, and is given little, for that takes its time; the other one at all of its leaves.
part "memory"
for device in cuda:0 wgpu:NVIDIA; do
  printf '%s: ' "$device"
  timeout 20 "$girih" run core/net/tests/suite/net/no_end.hvm --memory 64MiB --device "$device" 2>&1 | head -1 | cut -c1-200
  timeout 20 "$girih" run core/net/tests/suite/net/no_end_tree.hvm --device "$device" 2>&1 | head -1 | cut -c1-200
done
part "end"
