#!/usr/bin/env bash
# Prints the cache's figures, in a directory on a disk file system: BENCH_DIRECTORY, else /var/tmp.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d "${BENCH_DIRECTORY:-/var/tmp}/sallyport-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
swift build --package-path "$here" -c release --product CacheTable >&2
"$(swift build --package-path "$here" -c release --show-bin-path)/CacheTable" "$work"
