/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/witness/request.h"

#include "daemon/record/tree/lines.h"

static int wrong(const char **ret_wrong, const char *sentence) {
        *ret_wrong = sentence;
        return -EBADMSG;
}

int request_parse(const char *body, size_t n, Request *ret, const char **ret_wrong) {
        Lines lines = { body, n };
        Line line, number;

        if (line_take(&lines, &line) < 0 || line_after(&line, "old", &number) < 0 || line_number(&number, &ret->old) < 0)
                return wrong(ret_wrong, "the first line is not 'old' and a size");
        if (lines_take_path(&lines, &ret->path) < 0)
                return wrong(ret_wrong, "no lines of hashes with an empty line at their end");
        if (note_parse(lines.text, lines.n, &ret->note) < 0)
                return wrong(ret_wrong, "what follows the proof is no signed note");
        if (checkpoint_parse(ret->note.text, ret->note.n, &ret->checkpoint) < 0)
                return wrong(ret_wrong, "what is signed is no checkpoint");
        ret->n_note = lines.n;
        return 0;
}

void request_print(Printer *body, uint64_t old, const TreePath *path, const char *note, size_t n) {
        printer_text(body, "old ");
        line_print_number(body, old);
        lines_print_path(body, path);
        printer_text(body, "\n");
        printer_raw(body, note, n);
}
