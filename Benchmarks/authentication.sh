#!/usr/bin/env bash
# Prints what a load costs by Basic, by Digest and by NTLM.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
swift build --package-path "$here" -c release --product AuthenticationTable >&2
"$(swift build --package-path "$here" -c release --show-bin-path)/AuthenticationTable"
