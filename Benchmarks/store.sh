#!/usr/bin/env bash
# Prints the store's figures, in a directory on a disk file system: BENCH_DIRECTORY, else /var/tmp.
set -euo pipefail
pkg-config --exists sqlcipher || { echo "store.sh: install libsqlcipher-dev, the peer that is measured" >&2; exit 69; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d "${BENCH_DIRECTORY:-/var/tmp}/sallyport-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
swift build --package-path "$here" -c release --product StoreTable >&2
export BENCH_FILE_SYSTEM; BENCH_FILE_SYSTEM=$(df --output=fstype "$work" | tail -1)
"$(swift build --package-path "$here" -c release --show-bin-path)/StoreTable" "$work" "$@"
