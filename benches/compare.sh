#!/usr/bin/env bash
# Compares two builds on one device: which benchmarks are slower in the new one.
#
#   benches/compare.sh OLD NEW DEVICE OUT [SUITE]...
#
# OLD and NEW are release binaries, DEVICE is cuda, wgpu:NAME or cpu, OUT a folder for the reports. Each suite is measured once with each build.
# Programs with a slower row are measured again with more samples, the builds taking TURNS turns (3); a row counts as slower if the median
# of the turns' ratios is above THRESHOLD (1.05). The last line says how many rows are. SAMPLES (7, then 15) is the number of runs of a figure, LIMIT the seconds that a suite may take.
# OLD and a copy of OLD show how many rows chance marks.
set -uo pipefail
old=$(realpath "$1") new=$(realpath "$2") device=$3 out=$4
shift 4
suites=${*:-bend net render ir tile}
export TURNS=${TURNS:-3}
mkdir -p "$out"
out=$(realpath "$out")
cd "$(dirname "$0")/.." || exit 1
# Each build keeps what drivers have compiled in a folder of its own.
caches=$(mktemp -d)
trap 'rm -rf "$caches"' EXIT

measure() { # build name samples arguments..
  local build=$1 name=$2 samples=$3
  shift 3
  GIRIH_CACHE=$caches/$(basename "$(dirname "$build")")-$(basename "$build") timeout "${LIMIT:-150}" \
    "$build" bench "$@" --device "$device" --samples "$samples" --output "$out/$name" >"$out/$name.txt" 2>&1
}

for suite in $suites; do
  measure "$old" "old-$suite" "${SAMPLES:-7}" "$suite"
  measure "$new" "new-$suite" "${SAMPLES:-7}" "$suite"
  # The program's name is a word of the row's name; a suite's rows of one program are measured again as a whole.
  python3 benches/compare.py slower "$out/old-$suite" "$out/new-$suite" | while read -r program; do
    [ -n "$program" ] || continue
    name=${program//[^A-Za-z0-9]/_}
    for turn in $(seq "$TURNS"); do
      measure "$old" "old-$suite-$name-$turn" "${SAMPLES:-15}" "$suite" --only "$program" </dev/null
      measure "$new" "new-$suite-$name-$turn" "${SAMPLES:-15}" "$suite" --only "$program" </dev/null
    done
  done
done
python3 benches/compare.py verdict "$out" "$device"
