/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/tree/lines.h"

#include <string.h>

#include "daemon/record/encode/base64.h"

#define HASH_TEXT BASE64_SIZE(DIGEST_BYTES)

int line_take(Lines *lines, Line *ret) {
        const char *end = lines->n > 0 ? memchr(lines->text, '\n', lines->n) : NULL;

        if (!end)
                return -EBADMSG;
        *ret = (Line) { lines->text, (size_t) (end - lines->text) };
        lines->n -= ret->n + 1;
        lines->text = end + 1;
        return 0;
}

int line_after(const Line *line, const char *word, Line *ret) {
        size_t n = strlen(word);

        if (line->n <= n || memcmp(line->text, word, n) != 0 || line->text[n] != ' ')
                return -EBADMSG;
        *ret = (Line) { line->text + n + 1, line->n - n - 1 };
        return 0;
}

int line_number(const Line *line, uint64_t *ret) {
        uint64_t value = 0;

        if (line->n == 0 || line->n > 16 || (line->n > 1 && line->text[0] == '0'))
                return -EBADMSG;
        for (size_t i = 0; i < line->n; i++) {
                if (line->text[i] < '0' || line->text[i] > '9')
                        return -EBADMSG;
                value = value * 10 + (uint64_t) (line->text[i] - '0');
        }
        if (value > TREE_SIZE_MAX)
                return -EBADMSG;
        *ret = value;
        return 0;
}

int line_hash(const Line *line, TreeHash *ret) {
        uint8_t data[HASH_TEXT];
        size_t n;

        if (line->n != HASH_TEXT || base64_decode_standard(line->text, line->n, data, &n) < 0 || n != DIGEST_BYTES)
                return -EBADMSG;
        memcpy(ret->bytes, data, DIGEST_BYTES);
        return 0;
}

void line_print_number(Printer *printer, uint64_t value) {
        printer_digits(printer, value);
        printer_text(printer, "\n");
}

void line_print_hash(Printer *printer, const TreeHash *hash) {
        char text[HASH_TEXT + 1], *end;

        end = base64_encode(hash->bytes, DIGEST_BYTES, text);
        *end++ = '\n';
        printer_raw(printer, text, (size_t) (end - text));
}

int lines_take_path(Lines *lines, TreePath *ret) {
        TreePath path = {};
        Line line;
        int r;

        for (;;) {
                r = line_take(lines, &line);
                if (r < 0)
                        return r;
                if (line.n == 0)
                        break;
                if (path.n == TREE_PATH_MAX)
                        return -EBADMSG;
                r = line_hash(&line, &path.hashes[path.n++]);
                if (r < 0)
                        return r;
        }
        *ret = path;
        return 0;
}

void lines_print_path(Printer *printer, const TreePath *path) {
        for (size_t i = 0; i < path->n; i++)
                line_print_hash(printer, &path->hashes[i]);
}
