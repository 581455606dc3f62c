/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Location
 *
 * The grammar is one table: the word of a part, what it may stand below, and its largest number. Parsing, formatting
 * and appending read it; none of them knows a part by name.
 */

#include "checks/vocabulary/location.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"

typedef enum Form {
        FORM_NONE,   /* the word alone: sbuf */
        FORM_NUMBER, /* chip3 */
        FORM_PAIR,   /* pe17.93 */
        FORM_PORT,   /* link-x+ */
} Form;

typedef struct Rule {
        const char *word;
        uint64_t parents; /* BELOW(kind)… */
        Form form;
        uint16_t n;        /* numbers run from 0 to n - 1, both of them in a pair */
        const char *wrong; /* what to say where the number is not in range */
        const char *below; /* what to say where no part of that name stands below this one */
} Rule;

#define BELOW(kind) (UINT64_C(1) << (kind))
#define ENGINES     (BELOW(LOCATION_VECTOR) | BELOW(LOCATION_SCALAR) | BELOW(LOCATION_GPSIMD))

static_assert(_LOCATION_KIND_MAX <= 64, "a kind is one bit of Rule.parents");

#define LEAF "nothing stands below this part"

static const Rule rules[_LOCATION_KIND_MAX] = {
        [LOCATION_SERVER]         = { "server", 0, FORM_NONE, 0, NULL, "expected chipN below a server" },
        [LOCATION_CHIP]           = { "chip", BELOW(LOCATION_SERVER), FORM_NUMBER, 16,
                                      "expected chip0 to chip15",
                                      "expected hbmN, coreN, link-{x,y,z}{+,-} or nicN below a chip" },
        [LOCATION_HBM]            = { "hbm", BELOW(LOCATION_CHIP), FORM_NUMBER, 4,
                                      "expected hbm0 to hbm3", "expected chN or dieN below a stack" },
        [LOCATION_CHANNEL]        = { "ch", BELOW(LOCATION_HBM), FORM_NUMBER, 32,
                                      "expected ch0 to ch31", "expected pcN below a channel" },
        [LOCATION_PSEUDO_CHANNEL] = { "pc", BELOW(LOCATION_CHANNEL), FORM_NUMBER, 2,
                                      "expected pc0 or pc1", "expected sidN or dqN below a pseudo-channel" },
        /* Below a stack ID it is the lane's TSV into that die. */
        [LOCATION_DQ]             = { "dq", BELOW(LOCATION_PSEUDO_CHANNEL) | BELOW(LOCATION_SID), FORM_NUMBER, 32,
                                      "expected dq0 to dq31", LEAF },
        [LOCATION_DIE]            = { "die", BELOW(LOCATION_HBM), FORM_NUMBER, 32,
                                      "expected die0 to die31", LEAF },
        [LOCATION_SID]            = { "sid", BELOW(LOCATION_PSEUDO_CHANNEL), FORM_NUMBER, 4,
                                      "expected sid0 to sid3", "expected bgN or dqN below a stack ID" },
        [LOCATION_BANK_GROUP]     = { "bg", BELOW(LOCATION_SID), FORM_NUMBER, 8,
                                      "expected bg0 to bg7", "expected baN below a bank group" },
        [LOCATION_BANK]           = { "ba", BELOW(LOCATION_BANK_GROUP), FORM_NUMBER, 8,
                                      "expected ba0 to ba7", "expected rowN, subN or colN below a bank" },
        [LOCATION_SUBARRAY]       = { "sub", BELOW(LOCATION_BANK), FORM_NUMBER, 256,
                                      "expected sub0 to sub255", "expected colN below a subarray" },
        [LOCATION_ROW]            = { "row", BELOW(LOCATION_BANK), FORM_NUMBER, 32768,
                                      "expected row0 to row32767", "expected colN or swlN below a row" },
        [LOCATION_SUB_WORDLINE]   = { "swl", BELOW(LOCATION_ROW), FORM_NUMBER, 16,
                                      "expected swl0 to swl15", LEAF },
        /* Below a bank or a subarray it is the column of every row. */
        [LOCATION_COLUMN]         = { "col", BELOW(LOCATION_ROW) | BELOW(LOCATION_SUBARRAY) | BELOW(LOCATION_BANK), FORM_NUMBER, 64,
                                      "expected col0 to col63", "expected bitN below a column" },
        [LOCATION_BIT]            = { "bit", BELOW(LOCATION_COLUMN), FORM_NUMBER, 256,
                                      "expected bit0 to bit255", LEAF },
        [LOCATION_CORE]           = { "core", BELOW(LOCATION_CHIP), FORM_NUMBER, 8, "expected core0 to core7",
                                      "expected peR.C, psumN, sbuf, vector, scalar, gpsimd or sparse below a core" },
        [LOCATION_PE]             = { "pe", BELOW(LOCATION_CORE), FORM_PAIR, 128,
                                      "expected pe0.0 to pe127.127", LEAF },
        [LOCATION_PSUM]           = { "psum", BELOW(LOCATION_CORE), FORM_NUMBER, 8,
                                      "expected psum0 to psum7", "expected partN below a PSUM bank" },
        [LOCATION_PSUM_PARTITION] = { "part", BELOW(LOCATION_PSUM), FORM_NUMBER, 128,
                                      "expected part0 to part127", "expected rowN or bitN below a partition" },
        [LOCATION_SBUF]           = { "sbuf", BELOW(LOCATION_CORE), FORM_NONE, 0,
                                      "sbuf has no number", "expected partN below sbuf" },
        [LOCATION_SBUF_PARTITION] = { "part", BELOW(LOCATION_SBUF), FORM_NUMBER, 128,
                                      "expected part0 to part127", "expected rowN or bitN below a partition" },
        [LOCATION_SRAM_ROW]       = { "row", BELOW(LOCATION_SBUF_PARTITION) | BELOW(LOCATION_PSUM_PARTITION), FORM_NUMBER, 8192,
                                      "expected row0 to row8191", "expected bitN below a row" },
        /* Below a partition it is the bit line: that bit of every row. */
        [LOCATION_SRAM_BIT]       = { "bit", BELOW(LOCATION_SRAM_ROW) | BELOW(LOCATION_SBUF_PARTITION) | BELOW(LOCATION_PSUM_PARTITION),
                                      FORM_NUMBER, 256,
                                      "expected bit0 to bit255", LEAF },
        [LOCATION_VECTOR]         = { "vector", BELOW(LOCATION_CORE), FORM_NONE, 0,
                                      "vector has no number", "expected laneN below an engine" },
        [LOCATION_SCALAR]         = { "scalar", BELOW(LOCATION_CORE), FORM_NONE, 0,
                                      "scalar has no number", "expected laneN below an engine" },
        [LOCATION_GPSIMD]         = { "gpsimd", BELOW(LOCATION_CORE), FORM_NONE, 0,
                                      "gpsimd has no number", "expected laneN below an engine" },
        [LOCATION_ENGINE_LANE]    = { "lane", ENGINES, FORM_NUMBER, 128,
                                      "expected lane0 to lane127", LEAF },
        [LOCATION_SPARSE]         = { "sparse", BELOW(LOCATION_CORE), FORM_NONE, 0,
                                      "sparse has no number", "expected rowN or slotN below sparse" },
        [LOCATION_SPARSE_ROW]     = { "row", BELOW(LOCATION_SPARSE), FORM_NUMBER, 128,
                                      "expected row0 to row127", "expected slotN below a row of tags" },
        /* Below sparse it is the column of every row. */
        [LOCATION_SPARSE_SLOT]    = { "slot", BELOW(LOCATION_SPARSE_ROW) | BELOW(LOCATION_SPARSE), FORM_NUMBER, 128,
                                      "expected slot0 to slot127", LEAF },
        [LOCATION_LINK]           = { "link-", BELOW(LOCATION_CHIP), FORM_PORT, _LINK_PORT_MAX,
                                      "expected link-x+, link-x-, link-y+, link-y-, link-z+ or link-z-",
                                      "expected laneN below a link" },
        [LOCATION_LANE]           = { "lane", BELOW(LOCATION_LINK), FORM_NUMBER, 32,
                                      "expected lane0 to lane31", LEAF },
        [LOCATION_NIC]            = { "nic", BELOW(LOCATION_CHIP), FORM_NUMBER, 16,
                                      "expected nic0 to nic15", "expected pathN below an adapter" },
        [LOCATION_PATH]           = { "path", BELOW(LOCATION_NIC), FORM_NUMBER, 16,
                                      "expected path0 to path15", LEAF },
};

static const char *const port_names[_LINK_PORT_MAX] = {
        [LINK_X_PLUS] = "x+", [LINK_X_MINUS] = "x-", [LINK_Y_PLUS] = "y+",
        [LINK_Y_MINUS] = "y-", [LINK_Z_PLUS] = "z+", [LINK_Z_MINUS] = "z-",
};

const char *location_kind_to_string(LocationKind kind) {
        return kind >= 0 && kind < _LOCATION_KIND_MAX ? rules[kind].word : NULL;
}

LocationKind location_kind_from_string(const char *word) {
        for (LocationKind kind = 0; word && kind < _LOCATION_KIND_MAX; kind++)
                if (strcmp(rules[kind].word, word) == 0)
                        return kind;

        return _LOCATION_KIND_INVALID;
}

const char *link_port_to_string(LinkPort port) {
        return port >= 0 && port < _LINK_PORT_MAX ? port_names[port] : NULL;
}

LinkPort link_port_from_string(const char *text) {
        for (LinkPort port = 0; text && port < _LINK_PORT_MAX; port++)
                if (strcmp(port_names[port], text) == 0)
                        return port;

        return _LINK_PORT_INVALID;
}

LinkPort link_port_opposite(LinkPort port) {
        assert(port >= 0 && port < _LINK_PORT_MAX);

        return (LinkPort) ((unsigned) port ^ 1u); /* plus and minus of an axis are neighbours in the enum */
}

/* How many bytes of TEXT make a server's name; 0 where it does not start with one. */
static size_t server_name_length(const char *text) {
        size_t n = 0;

        if (text[0] < 'a' || text[0] > 'z')
                return 0;

        while ((text[n] >= 'a' && text[n] <= 'z') || (text[n] >= '0' && text[n] <= '9') || text[n] == '-')
                n++;

        return n;
}

bool location_server_name_is_valid(const char *name) {
        size_t n = name ? server_name_length(name) : 0;

        return n > 0 && n < LOCATION_SERVER_NAME_MAX && name[n] == '\0';
}

/* Reads the number at *text, below N, and moves behind it. */
static bool read_number(const char **text, unsigned n, uint16_t *ret) {
        const char *at = *text;
        unsigned value = 0;

        if (*at < '0' || *at > '9' || (*at == '0' && at[1] >= '0' && at[1] <= '9'))
                return false;

        for (; *at >= '0' && *at <= '9'; at++) {
                value = 10 * value + (unsigned) (*at - '0');
                if (value >= n)
                        return false;
        }

        *text = at;
        *ret = (uint16_t) value;
        return true;
}

/* Reads what follows the word of a part, up to '/' or the end. */
static bool read_number_of(const Rule *rule, const char **text, LocationPart *part) {
        char port[3] = "";

        switch (rule->form) {
        case FORM_NONE:
                break;
        case FORM_NUMBER:
                if (!read_number(text, rule->n, &part->index))
                        return false;
                break;
        case FORM_PAIR:
                if (!read_number(text, rule->n, &part->index) || *(*text)++ != '.' ||
                    !read_number(text, rule->n, &part->column))
                        return false;
                break;
        case FORM_PORT:
                strncpy(port, *text, 2);
                if (link_port_from_string(port) < 0)
                        return false;
                part->index = (uint16_t) link_port_from_string(port);
                *text += 2;
                break;
        }

        return **text == '\0' || **text == '/';
}

static bool is_word_byte(char c) {
        return (c >= 'a' && c <= 'z') || c == '-';
}

/* Finds which part stands at TEXT below PARENT by its whole word. */
static LocationKind kind_below(LocationKind parent, const char *text) {
        size_t n = 0;

        if (strncmp(text, "link-", 5) == 0)
                n = 5; /* its port is letters too */
        else
                while (is_word_byte(text[n]))
                        n++;

        for (LocationKind kind = 0; kind < _LOCATION_KIND_MAX; kind++)
                if ((rules[kind].parents & BELOW(parent)) != 0 && strlen(rules[kind].word) == n &&
                    strncmp(rules[kind].word, text, n) == 0)
                        return kind;

        return _LOCATION_KIND_INVALID;
}

static const char *read_server(const char **text, Location *location) {
        size_t n = server_name_length(*text);

        if (n == 0 || ((*text)[n] != '\0' && (*text)[n] != '/'))
                return "expected the name of a server: lower-case letters, digits and '-', starting with a letter";
        if (n >= LOCATION_SERVER_NAME_MAX)
                return "the name of a server has at most 31 bytes";

        memcpy(location->server, *text, n);
        *text += n;
        return NULL;
}

static const char *read_part(const char **text, Location *location) {
        LocationKind parent = location_kind(location), kind;
        LocationPart part = {};

        kind = kind_below(parent, *text);
        if (kind < 0 || location->n_parts >= LOCATION_DEPTH_MAX)
                return rules[parent].below;

        part.kind = kind;
        *text += strlen(rules[kind].word);
        if (!read_number_of(&rules[kind], text, &part))
                return rules[kind].wrong;

        location->parts[location->n_parts++] = part;
        return NULL;
}

int location_parse(const char *text, Location *ret, const char **ret_wrong, size_t *ret_offset) {
        Location location = {};
        const char *start, *at, *wrong;

        assert(text);
        assert(ret);

        start = at = text;
        wrong = read_server(&at, &location);
        while (!wrong && *at == '/') {
                start = ++at;
                wrong = read_part(&at, &location);
        }

        if (wrong) {
                if (ret_wrong)
                        *ret_wrong = wrong;
                if (ret_offset)
                        *ret_offset = (size_t) (start - text);
                return -EINVAL;
        }

        *ret = location;
        return 0;
}

/* Appends TEXT at *end; every valid location fits, see LOCATION_STRING_MAX. */
static char *put(char *end, const char *text) {
        size_t n = strlen(text);

        memcpy(end, text, n + 1);
        return end + n;
}

static char *put_number(char *end, unsigned number) {
        char digits[12], *at = digits + sizeof(digits) - 1;

        *at = '\0';
        do
                *--at = (char) ('0' + number % 10);
        while ((number /= 10) > 0);

        return put(end, at);
}

static char *put_part(char *end, const LocationPart *part) {
        const Rule *rule = &rules[part->kind];

        end = put(put(end, "/"), rule->word);
        switch (rule->form) {
        case FORM_NONE:
                return end;
        case FORM_NUMBER:
                return put_number(end, part->index);
        case FORM_PAIR:
                return put_number(put(put_number(end, part->index), "."), part->column);
        case FORM_PORT:
                return put(end, port_names[part->index]);
        }

        return end;
}

char *location_format(const Location *location, char buffer[static LOCATION_STRING_MAX]) {
        char *end = buffer;

        assert(location);
        assert(location->n_parts <= LOCATION_DEPTH_MAX);

        end = put(end, location->server);
        for (unsigned i = 0; i < location->n_parts; i++)
                end = put_part(end, &location->parts[i]);

        return buffer;
}

LocationKind location_kind(const Location *location) {
        assert(location);

        return location->n_parts > 0 ? location->parts[location->n_parts - 1].kind : LOCATION_SERVER;
}

static const LocationPart *find_part(const Location *location, LocationKind kind) {
        for (unsigned i = 0; i < location->n_parts; i++)
                if (location->parts[i].kind == kind)
                        return &location->parts[i];

        return NULL;
}

int location_index(const Location *location, LocationKind kind) {
        const LocationPart *part;

        assert(location);

        part = find_part(location, kind);
        return part ? part->index : -ENOENT;
}

static int append(Location *location, LocationKind kind, Form form, unsigned index, unsigned column) {
        assert(location);

        if (kind <= LOCATION_SERVER || kind >= _LOCATION_KIND_MAX || location->n_parts >= LOCATION_DEPTH_MAX)
                return -EINVAL;
        if ((rules[kind].parents & BELOW(location_kind(location))) == 0 || rules[kind].form != form)
                return -EINVAL;
        if (form == FORM_NONE ? index != 0 : index >= rules[kind].n || column >= rules[kind].n)
                return -EINVAL;

        location->parts[location->n_parts++] =
                        (LocationPart) { .kind = kind, .index = (uint16_t) index, .column = (uint16_t) column };
        return 0;
}

int location_append(Location *location, LocationKind kind, unsigned index) {
        if (kind < 0 || kind >= _LOCATION_KIND_MAX || rules[kind].form == FORM_PAIR)
                return -EINVAL;

        return append(location, kind, rules[kind].form, index, 0);
}

int location_append_pe(Location *location, unsigned row, unsigned column) {
        return append(location, LOCATION_PE, FORM_PAIR, row, column);
}

int location_truncate(Location *location, LocationKind kind) {
        const LocationPart *part;

        assert(location);

        if (kind == LOCATION_SERVER) {
                location->n_parts = 0;
                return 0;
        }

        part = find_part(location, kind);
        if (!part)
                return -ENOENT;

        location->n_parts = (unsigned) (part - location->parts) + 1;
        return 0;
}

static int compare_parts(const LocationPart *a, const LocationPart *b) {
        if (a->kind != b->kind)
                return a->kind < b->kind ? -1 : 1;
        if (a->index != b->index)
                return a->index < b->index ? -1 : 1;
        if (a->column != b->column)
                return a->column < b->column ? -1 : 1;

        return 0;
}

bool location_contains(const Location *whole, const Location *part) {
        assert(whole);
        assert(part);

        if (strcmp(whole->server, part->server) != 0 || whole->n_parts > part->n_parts)
                return false;

        for (unsigned i = 0; i < whole->n_parts; i++)
                if (compare_parts(&whole->parts[i], &part->parts[i]) != 0)
                        return false;

        return true;
}

bool location_equal(const Location *a, const Location *b) {
        return location_contains(a, b) && a->n_parts == b->n_parts;
}

int location_compare(const Location *a, const Location *b) {
        int r;

        assert(a);
        assert(b);

        r = strverscmp(a->server, b->server); /* trn-2 before trn-10 */
        if (r != 0)
                return r;

        for (unsigned i = 0; i < a->n_parts && i < b->n_parts; i++) {
                r = compare_parts(&a->parts[i], &b->parts[i]);
                if (r != 0)
                        return r;
        }

        return a->n_parts == b->n_parts ? 0 : a->n_parts < b->n_parts ? -1 : 1;
}
