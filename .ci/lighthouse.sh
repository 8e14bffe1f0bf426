#!/usr/bin/env bash
# Lighthouse looks at the playground's page: the accessibility that it reports is 95 of 100 at least. Needs the page (`web/build.sh`), Node, Python and Chromium (`CHROMIUM`).
# Takes some 15 seconds, and as long for its 220 MB the first time.
set -euo pipefail
cd "$(dirname "$0")/.."

least=95
version=12.8.2
page="${GIRIH_PLAYGROUND:-target/playground}"
tools="${CARGO_TARGET_DIR:-target}/tools/lighthouse"
if [ ! -d "$tools/node_modules/lighthouse" ]; then
  mkdir -p "$tools"
  npm install --prefix "$tools" --no-audit --no-fund --loglevel=error "lighthouse@$version" >/dev/null
fi

work="$(mktemp -d)"
python3 -u -m http.server 0 --bind 127.0.0.1 --directory "$page" >"$work/server" 2>/dev/null &
server=$!
trap 'kill "$server"; rm -rf "$work"' EXIT
until grep -q port "$work/server"; do sleep 0.1; done
port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$work/server")

CHROME_PATH="${CHROMIUM:-/usr/bin/chromium}" node "$tools/node_modules/lighthouse/cli/index.js" "http://127.0.0.1:$port/" --quiet \
  --only-categories=accessibility --chrome-flags="--headless=new --no-sandbox" --output=json --output-path="$work/report.json"
node -e '
  const { categories, audits } = JSON.parse(require("fs").readFileSync(process.argv[1]));
  const { score, auditRefs } = categories.accessibility;
  console.log(`accessibility by Lighthouse: ${Math.round(score * 100)} of 100`);
  for (const { id } of auditRefs) if (audits[id].score === 0) console.log(`  ${id}: ${audits[id].title}`);
  process.exit(score * 100 >= Number(process.argv[2]) ? 0 : 1);
' "$work/report.json" "$least"
