/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/files/key-source.h"

#include "checks/vocabulary/verdict.h"
#include "cli/files/file-kind.h"
#include "cli/terminal/say.h"

int key_source_load(const char *source, int (*loader)(const char *source, RecordKey **ret), RecordKey **ret) {
        FileKind kind;
        int r;

        if (record_key_source_has_pin(source))
                return complain(STATUS_USAGE, "a PIN on the command line is everyone's to see: name a file with pin-source=");
        r = loader(source, ret);
        if (r >= 0)
                return 0;
        kind = file_kind_of(source);
        if (kind >= 0 && kind != FILE_PRIVATE_KEY)
                return complain(STATUS_USAGE, "%s: no %skey in PEM form; this is %s", source, loader == record_key_load ? "private " : "", file_kind_to_string(kind));
        return complain(STATUS_USAGE, "%.*s: %s", (int) record_key_source_length(source), source, record_key_strerror(source, r));
}
