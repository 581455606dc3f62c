#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Arrows point inward and a folder is entered through its doors: whatever is not said here is refused.
set -eu
cd "$1"

folder() { # the folder of a path that has doors of its own
        case $1 in
        daemon/record/*/*) echo "${1%/*}" ;;
        daemon/record/* | daemon/sinks/* | daemon/ledger/* | daemon/line/*) echo "${1%/*}" ;;
        */*) echo "${1%%/*}" ;;
        *) echo . ;;
        esac
}

rank() { # of a room of daemon/record: it may use those before it
        case ${1#daemon/record/} in
        encode) echo 1 ;; tree) echo 2 ;; keys) echo 3 ;; statement) echo 4 ;; verify) echo 5 ;; store) echo 6 ;; log) echo 7 ;;
        audit) echo 8 ;; exports) echo 9 ;;
        *) echo 0 ;;
        esac
}

allowed() { # FROM TO HEADER
        case "$1>$2" in
        'daemon/record/'*'>daemon/record') return 0 ;; # its own door
        'daemon/record/'*'>daemon/record/'*) [ "$(rank "$2")" -gt 0 ] && [ "$(rank "$1")" -ge "$(rank "$2")" ] && return 0 ;;
        'sim>checks')
                case $3 in checks/wire.h | checks/location.h | checks/yaml.h | checks/catalogue.h | checks/stream.h | \
                        checks/cleanup.h | checks/march/notation.h) return 0 ;; esac ;;
        'daemon/record>checks' | 'daemon/record/'*'>checks')
                case $3 in checks/verdict.h | checks/catalogue.h | checks/measurements.h | checks/location.h | checks/particulars.h | \
                        checks/regions.h | checks/cleanup.h | checks/whole-file.h) return 0 ;; esac ;;
        'witness>checks') case $3 in checks/cleanup.h | checks/verdict.h | checks/whole-file.h) return 0 ;; esac ;;
        'witness>daemon/record' | 'witness>daemon/record/'*) # notes, trees and checkpoints are the same on both sides
                case $3 in daemon/record/record.h | daemon/record/keys/checkpoint.h | daemon/record/store/database.h | daemon/record/keys/keyring.h | \
                        daemon/record/tree/lines.h | daemon/record/keys/note.h | daemon/record/encode/digest.h | \
                        daemon/record/encode/printer.h | daemon/record/encode/words.h) return 0 ;; esac ;;
        'daemon>checks' | 'cli>checks' | 'daemon/sinks>checks' | 'daemon/ledger>checks' | 'daemon/line>checks')
                case $3 in checks/verdict.h | checks/plan.h | checks/stream.h | checks/location.h | checks/catalogue.h | \
                        checks/measurements.h | checks/yaml.h | checks/cleanup.h | checks/particulars.h | checks/regions.h | checks/topology.h | checks/whole-file.h) return 0 ;; esac ;;
        'daemon>daemon/record' | 'cli>daemon/record' | 'daemon/sinks>daemon/record' | 'daemon/ledger>daemon/record' | \
                'daemon/line>daemon/record') [ "$3" = daemon/record/record.h ] && return 0 ;;
        'cli>daemon' | 'daemon/sinks>daemon' | 'daemon/ledger>daemon' | 'daemon/line>daemon')
                [ "$3" = daemon/names.h ] && return 0 ;;
        'cli>witness') [ "$3" = witness/submit.h ] && return 0 ;;
        *) [ "$1" = "$2" ] && return 0 ;;
        esac
        return 1
}

"$2"/sources . | grep -E '^(checks|sim|daemon|witness|cli)/.*\.(c|h|c\.in)$' |
        while IFS= read -r file; do sed -n "s|^ *# *include *\"\([^\"]*\)\".*|$file \1|p" "$file"; done |
        {
                wrong=0 n=0
                while read -r file header; do
                        n=$((n + 1))
                        if [ ! -e "$header" ]; then
                                echo "$file: \"$header\" is no path from the top of the repository"
                                wrong=1
                        elif ! allowed "$(folder "$file")" "$(folder "$header")" "$header"; then
                                echo "$file: $header is no door for $(folder "$file")"
                                wrong=1
                        fi
                done
                echo "$n includes read"
                [ "$n" -gt 100 ] && exit $wrong
        }
