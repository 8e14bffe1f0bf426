#!/bin/sh
# Installs what the tests need on a Debian machine: a software Vulkan driver, a virtual display with the tools that take a
# picture and press keys, the validator of SPIR-V, the editor Neovim, the terminal tmux, Python with virtual environments, and a browser with Node, which drives it. Running it again changes nothing.
#
# Mesa older than 25 ends a shader silently after 65,535 loop iterations, so Debian 12 takes Mesa from backports: from
# the mirror that the machine's own package sources name.
set -eu

wanted_mesa=25
packages="xvfb xdotool imagemagick spirv-tools libvulkan1 libx11-6 libx11-xcb1 libxcursor1 libxi6 libxrandr2 libxkbcommon-x11-0 neovim tmux python3-venv"

# Where a browser or Node comes from elsewhere, that one is taken.
command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || packages="$packages chromium"
command -v npm >/dev/null 2>&1 || packages="$packages nodejs npm"

installed() { dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }
mesa_major() { dpkg-query -W -f '${Version}\n' mesa-vulkan-drivers 2>/dev/null | sed 's/^[0-9]*://; s/[^0-9].*//'; }
mesa_is_new() { version=$(mesa_major) && [ "${version:-0}" -ge "$wanted_mesa" ]; }

missing=""
for package in $packages; do
  installed "$package" || missing="$missing $package"
done
if [ -z "$missing" ] && mesa_is_new; then
  exit 0
fi

if ! command -v apt-get >/dev/null 2>&1; then
  echo "setup: this machine has no apt-get; install Xvfb, xdotool, ImageMagick and Mesa $wanted_mesa or newer by hand" >&2
  exit 1
fi

as_root=""
if [ "$(id -u)" -ne 0 ]; then as_root="sudo"; fi
export DEBIAN_FRONTEND=noninteractive

# The mirror of the machine's main archive, whichever of the two formats its sources are written in.
mirror() {
  cat /etc/apt/sources.list.d/*.sources 2>/dev/null | awk '
    /^URIs:/ { uri = $2 } /^Suites:/ { for (i = 2; i <= NF; i++) if ($i == suite) { print uri; exit } }' suite="$1" | grep . ||
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed 's/\[[^]]*\]//' | awk '$1 == "deb" && $3 == suite { print $2; exit }' suite="$1"
}

# shellcheck disable=SC1091
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
backports="$codename-backports"

$as_root apt-get -qq update
if [ "$codename" = bookworm ] && ! apt-cache policy | grep -q "n=$backports"; then
  uri=$(mirror "$codename")
  if [ -z "$uri" ]; then
    echo "setup: no package source for $codename was found, so $backports cannot be added" >&2
    exit 1
  fi
  echo "deb $uri $backports main" | $as_root tee "/etc/apt/sources.list.d/$backports.list" >/dev/null
  $as_root apt-get -qq update
fi

# shellcheck disable=SC2086
$as_root apt-get -qq install -y --no-install-recommends $packages >/dev/null
if ! mesa_is_new; then
  if [ "$codename" = bookworm ]; then
    $as_root apt-get -qq install -y --no-install-recommends -t "$backports" mesa-vulkan-drivers >/dev/null
  else
    $as_root apt-get -qq install -y --no-install-recommends mesa-vulkan-drivers >/dev/null
  fi
fi
if ! mesa_is_new; then
  echo "setup: Mesa $wanted_mesa or newer is needed, but $(mesa_major) is installed" >&2
  exit 1
fi
