/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Bits of a log's database are turned while nobody has it open, in all that a database is made of: each column of each table, sizes and pointers of its
 * pages, what SQLite keeps about them, its own header. A bit that is turned is found by the opening or by a pass over all of it, or means nothing: then
 * SQLite, asked for all rows by a connection that knows nothing of assay, tells what it told before. What each byte is follows from the file
 * format (sqlite.org/fileformat2.html) alone.
 *
 * A few bytes of each kind; with EVERY_BYTE= set, each byte.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sqlite3.h>

#include "checks/text/whole-file.h"
#include "tests/record/published.h"

#define EACH      6   /* bytes of a kind */
#define KINDS_MAX 250
#define KIND_MAX  64
#define COLUMNS   12
#define N_BYTES   5 /* queries of bytes */

typedef struct Kind {
        char name[KIND_MAX];
        unsigned n, n_opening, n_pass, n_nothing;
} Kind;

static Published published;
static uint8_t *bytes; /* of the database */
static size_t n_bytes, page_bytes;
static uint8_t *kind_of; /* each byte */
static Kind kinds[KINDS_MAX];
static size_t n_kinds;
static char *anchor, *said;
static size_t n_anchor;

/* ---- what each byte is ---- */

static uint8_t find_kind(const char *table, const char *what) {
        char name[KIND_MAX];

        (void) snprintf(name, sizeof(name), "%s%s%s", table, *table ? ": " : "", what);
        for (size_t i = 0; i < n_kinds; i++)
                if (strcmp(kinds[i].name, name) == 0)
                        return (uint8_t) i;
        assert_true(n_kinds < KINDS_MAX);
        (void) strcpy(kinds[n_kinds].name, name);
        return (uint8_t) n_kinds++;
}

static void mark(size_t at, size_t n, const char *table, const char *what) {
        assert_true(at + n <= n_bytes);
        memset(kind_of + at, find_kind(table, what), n);
}

static uint64_t big_endian(size_t at, size_t n) {
        uint64_t value = 0;

        for (size_t i = 0; i < n; i++)
                value = value << 8 | bytes[at + i];
        return value;
}

static uint64_t varint(size_t *at) {
        uint64_t value = 0;

        for (unsigned i = 0; i < 9; i++) {
                uint8_t byte = bytes[(*at)++];

                if (i == 8)
                        return value << 8 | byte;
                value = value << 7 | (byte & 0x7f);
                if (!(byte & 0x80))
                        break;
        }
        return value;
}

static size_t length_of(uint64_t serial) {
        static const uint8_t numbers[] = { 0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0 };

        return serial < 12 ? numbers[serial] : (size_t) (serial - 12) / 2;
}

/* Marks N bytes of a payload as WHAT, of which LEFT stand before the next overflow page. */
static void mark_payload(size_t *at, size_t *left, size_t n, const char *table, const char *what) {
        while (n > 0) {
                size_t now = n < *left ? n : *left;

                mark(*at, now, table, what);
                *at += now;
                *left -= now;
                n -= now;
                if (n > 0) {
                        uint64_t next = big_endian(*at, 4); /* at the end of what is local, and then at the begin of each page */

                        mark(*at, 4, table, "link to an overflow page");
                        *at = (next - 1) * page_bytes;
                        assert_true(next > 0 && *at < n_bytes);
                        *left = page_bytes - 4;
                        if (big_endian(*at, 4) == 0) /* the last one: what is behind it is free */
                                mark(*at, 4, table, "end of overflow pages");
                        /* Its link stands first; content goes on behind it. */
                        *at += 4;
                        if (n > *left) { /* so that the next round finds the link where it looks for it */
                                mark(*at, *left, table, what);
                                n -= *left;
                                *at -= 4;
                                *left = 0;
                        }
                }
        }
}

typedef struct Table {
        char name[32];
        char columns[COLUMNS][32];
} Table;

static void mark_record(size_t at, uint64_t n, bool is_index, const Table *table) {
        size_t usable = page_bytes, most = is_index ? (usable - 12) * 64 / 255 - 23 : usable - 35, least = (usable - 12) * 32 / 255 - 23;
        size_t local = n <= most ? (size_t) n : least + (size_t) (n - least) % (usable - 4), left, header = at, end;
        uint64_t n_header;

        if (n > most && local > most)
                local = least;
        left = n > most ? local : SIZE_MAX;
        n_header = varint(&header);
        end = at + n_header;
        mark_payload(&at, &left, n_header, table->name, "lengths of columns");
        for (size_t i = 0; header < end; i++) {
                uint64_t serial = varint(&header);

                mark_payload(&at, &left, length_of(serial), table->name, i < COLUMNS && *table->columns[i] ? table->columns[i] : "column");
        }
}

static void mark_cell(size_t at, uint8_t type, const Table *table) {
        size_t begin = at;
        uint64_t n = 0;

        if (type == 0x05 || type == 0x02) {
                mark(at, 4, table->name, "child page");
                begin = at += 4;
        }
        if (type != 0x05)
                n = varint(&at);
        if (type == 0x0d || type == 0x05)
                (void) varint(&at);
        mark(begin, at - begin, table->name, type == 0x05 ? "key of a child page" : "size and key");
        if (type != 0x05)
                mark_record(at, n, type != 0x0d, table);
}

static void mark_page(uint64_t page, const Table *table) {
        size_t begin = (size_t) (page - 1) * page_bytes, at = begin + (page == 1 ? 100 : 0), cells;
        uint8_t type = bytes[at];
        size_t n_header = type == 0x0d || type == 0x0a ? 8 : 12, n = (size_t) big_endian(at + 3, 2);

        assert_true(type == 0x0d || type == 0x05 || type == 0x0a || type == 0x02);
        mark(at, n_header, "", "head of a page");
        cells = at + n_header;
        mark(cells, 2 * n, "", "where cells stand");
        for (size_t i = 0; i < n; i++)
                mark_cell(begin + (size_t) big_endian(cells + 2 * i, 2), type, table);
        if (n_header == 8)
                return;
        for (size_t i = 0; i < n; i++)
                mark_page(big_endian(begin + (size_t) big_endian(cells + 2 * i, 2), 4), table);
        mark_page(big_endian(at + 8, 4), table);
}

/* The columns as they stand in a row: of a table without rowids its key comes first, as it does in ours. */
static void read_columns(sqlite3 *db, Table *table) {
        char sql[128];
        sqlite3_stmt *statement;

        (void) snprintf(sql, sizeof(sql), "PRAGMA table_info(%s)", table->name);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
        for (size_t i = 0; i < COLUMNS && sqlite3_step(statement) == SQLITE_ROW; i++)
                (void) snprintf(table->columns[i], sizeof(table->columns[i]), "%s", (const char *) sqlite3_column_text(statement, 1));
        (void) sqlite3_finalize(statement);
}

static void mark_all(sqlite3 *db) {
        static const Table schema = { "sqlite_schema", { "type", "name", "tbl_name", "rootpage", "sql" } };
        sqlite3_stmt *statement;

        mark(0, n_bytes, "", "free space");
        mark(0, 100, "", "header of the database");
        mark_page(1, &schema);
        assert_int_equal(sqlite3_prepare_v2(db, "SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0", -1, &statement, NULL), SQLITE_OK);
        while (sqlite3_step(statement) == SQLITE_ROW) {
                Table table = {};

                (void) snprintf(table.name, sizeof(table.name), "%s", (const char *) sqlite3_column_text(statement, 0));
                read_columns(db, &table);
                mark_page((uint64_t) sqlite3_column_int64(statement, 1), &table);
        }
        (void) sqlite3_finalize(statement);
}

/* ---- what it says ---- */

/*
 * All rows of all tables. Left out is what means nothing: when a checkpoint was signed only tells which of many are kept, and of a time no more than its
 * milliseconds is signed; where bytes are read as bytes it does not matter whether SQLite calls them a text; and the one row of `log` has a number that nobody asks for. What stands in sqlite_schema is what names them.
 */
static char *read_all(sqlite3 *db) {
        static const char *const queries[] = {
                "SELECT origin FROM log", "SELECT * FROM record ORDER BY idx", "SELECT * FROM identity ORDER BY digest",
                "SELECT size, note, witnesses FROM checkpoint ORDER BY size", "SELECT idx, nodes FROM entry ORDER BY idx",
                "SELECT idx, type, subject, result, plan, run, finished / 1000 FROM entry ORDER BY idx", "SELECT * FROM newest ORDER BY subject, plan",
                "SELECT * FROM unfinished ORDER BY idx", "SELECT size FROM checkpoint WHERE witnesses >= 0 ORDER BY witnesses, size",
                "SELECT idx FROM entry WHERE type = '" RECORD_TYPE_ROTATION "'", "PRAGMA application_id", "PRAGMA user_version",
        };
        size_t n = 0;
        char *all = NULL;
        FILE *file = open_memstream(&all, &n);

        for (size_t q = 0; q < ELEMENTS(queries); q++) {
                sqlite3_stmt *statement = NULL;
                int r = sqlite3_prepare_v2(db, queries[q], -1, &statement, NULL);

                while (r == SQLITE_OK && (r = sqlite3_step(statement)) == SQLITE_ROW) {
                        for (int i = 0; i < sqlite3_column_count(statement); i++) {
                                const uint8_t *data = sqlite3_column_blob(statement, i);
                                int type = sqlite3_column_type(statement, i);

                                (void) fprintf(file, "%d:", type == SQLITE_TEXT && q < N_BYTES ? SQLITE_BLOB : type);
                                for (int k = 0; k < sqlite3_column_bytes(statement, i); k++)
                                        (void) fprintf(file, "%02x", data[k]);
                                (void) fprintf(file, " ");
                        }
                        (void) fprintf(file, "\n");
                        r = SQLITE_OK;
                }
                (void) fprintf(file, "%d\n", r);
                (void) sqlite3_finalize(statement);
        }
        assert_int_equal(fclose(file), 0);
        return all;
}

static sqlite3 *open_database(void) {
        sqlite3 *db;

        assert_int_equal(sqlite3_open(published.place.log, &db), SQLITE_OK);
        return db;
}

static void put(const char *path, const void *data, size_t n) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, data, n), (ssize_t) n);
        (void) close(fd);
}

static void put_back(void) {
        char path[128];

        put(published.place.log, bytes, n_bytes);
        put(published.anchor, anchor, n_anchor);
        (void) snprintf(path, sizeof(path), "%s-wal", published.place.log);
        (void) unlink(path);
        (void) snprintf(path, sizeof(path), "%s-shm", published.place.log);
        (void) unlink(path);
}

/* ---- a log with something in every table ---- */

static int setup(void **state) {
        RecordLog *log;
        sqlite3 *db;

        if (access("/dev/shm", W_OK) == 0)
                (void) setenv("TMPDIR", "/dev/shm", 0);
        published_init(&published);
        assert_int_equal(published_open(&published, &log, NULL), 0);
        assert_int_equal(record_log_heartbeat(log, RECORD_HEARTBEAT_START, 1), 0);
        (void) place_take(log);
        published.server.scan.n_chips = 4;
        published.server.scan.result = RESULT_FAILED;
        (void) server_start(&published.server, log);
        (void) server_scan(&published.server, log);
        published_wait(log, record_log_size(log));
        published.server.run[35] = '9';
        (void) server_start(&published.server, log); /* and does not end */
        published_wait(log, record_log_size(log));
        (void) record_log_free(log);

        assert_int_equal(whole_file_read(AT_FDCWD, published.place.log, 64 << 20, (char **) &bytes, &n_bytes), 0);
        assert_int_equal(whole_file_read(AT_FDCWD, published.anchor, 1 << 16, &anchor, &n_anchor), 0);
        page_bytes = (size_t) big_endian(16, 2);
        kind_of = calloc(1, n_bytes);
        assert_non_null(kind_of);
        db = open_database();
        mark_all(db);
        said = read_all(db);
        (void) sqlite3_close(db);
        return 0;
}

static int teardown(void **state) {
        free(bytes);
        free(anchor);
        free(said);
        free(kind_of);
        published_done(&published);
        return 0;
}

/* ---- turning ---- */

static void turn(size_t at) {
        Kind *kind = &kinds[kind_of[at]];
        unsigned bit = (unsigned) (at * 2654435761u >> 7) % 8;
        char *error = NULL, *now = NULL;
        RecordLog *log = NULL;
        bool is_opened;
        sqlite3 *db;
        int r;

        bytes[at] ^= (uint8_t) (1 << bit);
        put_back();
        r = published_open(&published, &log, &error);
        is_opened = r == 0;
        if (is_opened)
                r = record_log_check(log, &error);
        (void) record_log_free(log);
        kind->n++;
        if (r < 0) {
                *(is_opened ? &kind->n_pass : &kind->n_opening) += 1;
                if (is_opened && (r != -EBADMSG || !error || !*error))
                        fail_msg("byte %zu (%s): the pass says %d, %s", at, kind->name, r, error ?: "nothing");
        } else {
                put_back();
                db = open_database();
                now = read_all(db);
                (void) sqlite3_close(db);
                kind->n_nothing++;
                if (strcmp(now, said) != 0)
                        fail_msg("byte %zu (%s), bit %u is turned, and nobody finds it", at, kind->name, bit);
        }
        bytes[at] ^= (uint8_t) (1 << bit);
        free(now);
        free(error);
}

static void turn_some(uint8_t kind) {
        size_t n = 0, k = 0, each = getenv("EVERY_BYTE") ? SIZE_MAX : EACH;

        for (size_t at = 0; at < n_bytes; at++)
                n += kind_of[at] == kind;
        if (each > n)
                each = n;
        /* The first, the last, and between them. */
        for (size_t at = 0, i = 0; at < n_bytes && i < each; at++)
                if (kind_of[at] == kind && k++ == (each > 1 ? i * (n - 1) / (each - 1) : 0)) {
                        turn(at);
                        i++;
                }
}

static void test_a_turned_bit_is_found_or_means_nothing(void **state) {
        unsigned n = 0;

        for (size_t i = 0; i < n_kinds; i++) {
                turn_some((uint8_t) i);
                print_message("# %-44s %4u turned: %u found by the opening, %u by the pass, %u mean nothing\n", kinds[i].name, kinds[i].n, kinds[i].n_opening,
                              kinds[i].n_pass, kinds[i].n_nothing);
                n += kinds[i].n_opening + kinds[i].n_pass;
        }
        assert_true(n_kinds > 45 && n > 200);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_turned_bit_is_found_or_means_nothing),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
