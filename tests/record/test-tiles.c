/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>

#include "tests/record/tiny-log.h"

static TinyLog tiny;
static char folder[128];
static unsigned n_folders;

static void new_folder(void) {
        (void) snprintf(folder, sizeof(folder), "%s/tiles-%u", tiny.place.folder, n_folders++);
}

static char *read_file(const char *path, size_t *ret_n) {
        char whole[256], *data = malloc((size_t) 1 << 20);
        FILE *file;

        (void) snprintf(whole, sizeof(whole), "%s/%s", folder, path);
        file = fopen(whole, "re");
        *ret_n = file && data ? fread(data, 1, (size_t) 1 << 20, file) : 0;
        if (file)
                (void) fclose(file);
        return data;
}

static void write_file(const char *path, const char *data, size_t n) {
        char whole[256];
        FILE *file;

        (void) snprintf(whole, sizeof(whole), "%s/%s", folder, path);
        file = fopen(whole, "we");
        assert_non_null(file);
        assert_int_equal(fwrite(data, 1, n, file), n);
        (void) fclose(file);
}

static ino_t inode(const char *path) {
        char whole[256];
        struct stat st;

        (void) snprintf(whole, sizeof(whole), "%s/%s", folder, path);
        return stat(whole, &st) < 0 ? 0 : st.st_ino;
}

static int open_tiles(const TinyLog *of, uint64_t size, RecordTiles **ret) {
        _cleanup_printer_ Printer note = {};
        const char *wrong = NULL;
        int r;

        tiny_log_sign(of, of->leaves, size, &note);
        r = record_tiles_open(folder, of->vkey.text, note.text, note.n, of->keyring, ret, &wrong);
        assert_true(r != -EBADMSG || wrong);
        return r;
}

static int mark(uint64_t index, char text[static 128]) {
        return snprintf(text, 128, "{\"pruned\":{\"index\":%u,\"sha256\":\"%064u\"}}", (unsigned) index, 0);
}

static int add_mark(RecordTiles *tiles, uint64_t index) {
        const char *wrong = NULL;
        char text[128];
        int n = mark(index, text);

        return record_tiles_add(tiles, text, (size_t) n, &wrong);
}

/* Up to SIZE records, the first SKIP of which have no envelopes; gives up before record UNTIL. */
static int export_until(const TinyLog *of, uint64_t size, uint64_t skip, uint64_t until) {
        _cleanup_(record_tiles_freep) RecordTiles *tiles = NULL;
        const char *wrong = NULL;
        uint64_t first, next;
        int r;

        r = open_tiles(of, size, &tiles);
        if (r == 0)
                r = record_tiles_tree(tiles, of->leaves, size * sizeof(TreeHash), &wrong);
        first = r == 0 ? record_tiles_next(tiles) : 0;
        while (r == 0 && (next = record_tiles_next(tiles)) < size) {
                if (next == until)
                        return -EINTR;
                r = next < skip ? add_mark(tiles, next)
                                : record_tiles_add(tiles, of->records[next].envelope.text, of->records[next].envelope.n, &wrong);
        }
        if (r == 0)
                assert_int_equal(record_tiles_pruned(tiles), skip > first ? skip - first : 0);
        return r < 0 ? r : record_tiles_publish(tiles, &wrong);
}

static int export(const TinyLog *of, uint64_t size) {
        return export_until(of, size, 0, UINT64_MAX);
}

/* The bodies of bundle PATH hash to the leaves from FIRST on. */
static void assert_entries(const char *path, uint64_t first, unsigned count) {
        _cleanup_free_ char *data = NULL;
        size_t n, at = 0;
        TreeHash hash;

        data = read_file(path, &n);
        for (unsigned i = 0; i < count; i++) {
                size_t length = (size_t) ((uint8_t) data[at] << 8 | (uint8_t) data[at + 1]);

                assert_true(at + 2 + length <= n);
                assert_int_equal(tree_leaf(data + at + 2, length, &hash), 0);
                assert_memory_equal(&hash, &tiny.leaves[first + i], sizeof(hash));
                at += 2 + length;
        }
        assert_int_equal(at, n);
}

/* Lines of all records up to END, those before FIRST of pruned ones. */
static void assert_lines(uint64_t first, uint64_t end) {
        _cleanup_free_ char *data = NULL;
        size_t n, at = 0;

        data = read_file("records.intoto.jsonl", &n);
        for (uint64_t i = 0; i < first; i++) {
                char text[128];
                int n_text = mark(i, text);

                assert_memory_equal(data + at, text, n_text);
                at += (size_t) n_text + 1;
        }
        for (uint64_t i = first; i < end; i++) {
                const Printer *envelope = &tiny.records[i].envelope;

                assert_true(at + envelope->n < n);
                assert_memory_equal(data + at, envelope->text, envelope->n);
                assert_int_equal(data[at + envelope->n], '\n');
                at += envelope->n + 1;
        }
        assert_int_equal(at, n);
}

static void assert_published(uint64_t size) {
        _cleanup_free_ char *data = NULL;
        _cleanup_printer_ Printer note = {};
        size_t n;

        data = read_file("checkpoint", &n);
        tiny_log_sign(&tiny, tiny.leaves, size, &note);
        assert_int_equal(n, note.n);
        assert_memory_equal(data, note.text, n);
}

static void assert_leaves(const char *path, uint64_t first, unsigned count) {
        _cleanup_free_ char *data = NULL;
        size_t n;

        data = read_file(path, &n);
        assert_int_equal(n, count * sizeof(TreeHash));
        assert_memory_equal(data, &tiny.leaves[first], n);
}

/* RFC 6962, as it is written down there. */
static void test_an_export_is_extended_and_never_rewritten(void **state) {
        _cleanup_free_ char *data = NULL;
        TreeHash root;
        ino_t tile, entries;
        size_t n;

        new_folder();
        assert_int_equal(export(&tiny, 300), 0);
        assert_published(300);
        assert_leaves("tile/0/000", 0, 256);
        assert_leaves("tile/0/001.p/44", 256, 44);
        assert_entries("tile/entries/000", 0, 256);
        assert_entries("tile/entries/001.p/44", 256, 44);
        assert_lines(0, 300);
        tile = inode("tile/0/000");
        entries = inode("tile/entries/000");

        assert_int_equal(export(&tiny, 300), 0);
        assert_int_equal(export(&tiny, 301), 0);
        assert_int_equal(export(&tiny, 700), 0);
        assert_published(700);
        assert_leaves("tile/0/001", 256, 256);
        assert_leaves("tile/0/001.p/44", 256, 44); /* for who has the older checkpoint */
        assert_leaves("tile/0/002.p/188", 512, 188);
        assert_entries("tile/entries/001", 256, 256);
        assert_entries("tile/entries/002.p/188", 512, 188);
        assert_lines(0, 700);
        assert_int_equal(inode("tile/0/000"), tile);
        assert_int_equal(inode("tile/entries/000"), entries);

        data = read_file("tile/1/000.p/2", &n);
        assert_int_equal(n, 2 * sizeof(TreeHash));
        for (unsigned i = 0; i < 2; i++) {
                root = plain_root(&tiny.leaves[(size_t) i * 256], 256);
                assert_memory_equal(data + i * sizeof(root), &root, sizeof(root));
        }
}

/* The example of the specification, and one that needs a folder for its thousandth tile. */
static void test_large_logs_have_the_tiles_that_the_standard_counts(void **state) {
        static const struct {
                uint64_t size;
                const char *path;
                size_t n; /* hashes; 0: it is not there */
        } there[] = {
                { 70000, "tile/0/272", 256 },     { 70000, "tile/0/273.p/112", 112 }, { 70000, "tile/0/273", 0 },
                { 70000, "tile/1/000", 256 },     { 70000, "tile/1/001.p/17", 17 },   { 70000, "tile/2/000.p/1", 1 },
                { 70000, "tile/3/000.p/0", 0 },   { 256, "tile/0/000", 256 },         { 256, "tile/1/000.p/1", 1 },
                { 256001, "tile/0/999", 256 },    { 256001, "tile/0/x001/000.p/1", 1 },
                { 256001, "tile/1/003.p/232", 232 }, { 256001, "tile/2/000.p/3", 3 },
        };
        _cleanup_free_ TreeHash *leaves = calloc(256001, sizeof(TreeHash));

        for (uint32_t i = 0; i < 256001; i++)
                memcpy(leaves[i].bytes, &i, sizeof(i));
        for (size_t i = 0; i < ELEMENTS(there); i++) {
                _cleanup_(record_tiles_freep) RecordTiles *tiles = NULL;
                _cleanup_printer_ Printer note = {};
                _cleanup_free_ char *data = NULL;
                const char *wrong;
                size_t n;

                if (i == 0 || there[i].size != there[i - 1].size) {
                        new_folder();
                        tiny_log_sign(&tiny, leaves, there[i].size, &note);
                        assert_int_equal(record_tiles_open(folder, tiny.vkey.text, note.text, note.n, tiny.keyring, &tiles, &wrong), 0);
                        assert_int_equal(record_tiles_tree(tiles, leaves, there[i].size * sizeof(TreeHash), &wrong), 0);
                        assert_int_equal(record_tiles_publish(tiles, &wrong), -EBADMSG);
                }
                data = read_file(there[i].path, &n);
                assert_int_equal(n, there[i].n * sizeof(TreeHash));
        }
}

/* Cut short at any record, even within a line. */
static void test_what_was_cut_short_is_taken_up(void **state) {
        static const uint64_t stops[] = { 0, 1, 44, 255, 256, 257, 511, 512, 600, 699 };

        for (size_t i = 0; i < ELEMENTS(stops); i++) {
                _cleanup_free_ char *lines = NULL;
                size_t n;

                new_folder();
                assert_int_equal(export_until(&tiny, 700, 0, stops[i]), -EINTR);
                assert_int_equal(inode("checkpoint"), 0);
                lines = read_file("records.intoto.jsonl", &n);
                (void) strcpy(lines + n, "{\"payload\":\"");
                write_file("records.intoto.jsonl", lines, n + strlen("{\"payload\":\""));
                assert_int_equal(export(&tiny, 700), 0);
                assert_published(700);
                assert_lines(0, 700);
                assert_entries("tile/entries/000", 0, 256);
                assert_entries("tile/entries/001", 256, 256);
                assert_entries("tile/entries/002.p/188", 512, 188);
        }
}

static void test_another_log_is_refused_and_nothing_changes(void **state) {
        static TinyLog other, fork;

        tiny_log_init(&other, RECORD_ED25519);
        tiny_log_grow(&other, 400, "other");
        fork = tiny;
        fork.leaves[100].bytes[7] ^= 1;

        new_folder();
        assert_int_equal(export(&tiny, 300), 0);
        assert_int_equal(export(&other, 400), -EBADMSG);  /* another key */
        assert_int_equal(export(&tiny, 299), -EBADMSG); /* an old copy */
        assert_int_equal(export(&fork, 400), -EBADMSG);   /* another history, well signed */
        assert_published(300);
        assert_lines(0, 300);
        assert_leaves("tile/0/000", 0, 256);
        assert_int_equal(inode("tile/0/001.p/144"), 0);
        assert_int_equal(export(&tiny, 400), 0);
        tiny_log_done(&other);
}

static void test_a_record_that_the_tree_does_not_hold_ends_it(void **state) {
        SignedLine *record = &tiny.records[350];
        const char *wrong = NULL;

        new_folder();
        assert_int_equal(export(&tiny, 300), 0);
        for (size_t at = 0; at < record->envelope.n; at += 5) {
                record->envelope.text[at] ^= 1;
                assert_true(export(&tiny, 400) < 0);
                assert_published(300);
                record->envelope.text[at] ^= 1;
        }
        {
                _cleanup_(record_tiles_freep) RecordTiles *tiles = NULL;

                /* Too few leaves; one before and one after what is wanted; not all records. */
                assert_int_equal(open_tiles(&tiny, 400, &tiles), 0);
                assert_int_equal(record_tiles_tree(tiles, tiny.leaves, 399 * sizeof(TreeHash), &wrong), -EBADMSG);
                assert_int_equal(record_tiles_tree(tiles, tiny.leaves, 400 * sizeof(TreeHash), &wrong), 0);
                assert_int_equal(record_tiles_next(tiles), 350);
                assert_int_equal(record_tiles_add(tiles, tiny.records[255].envelope.text, tiny.records[255].envelope.n, &wrong), -EBADMSG);
                assert_int_equal(record_tiles_add(tiles, tiny.records[400].envelope.text, tiny.records[400].envelope.n, &wrong), -EBADMSG);
                assert_int_equal(record_tiles_publish(tiles, &wrong), -EBADMSG);
        }
        assert_int_equal(export(&tiny, 400), 0);
        assert_published(400);
        assert_lines(0, 400);
}

/* What stands where a file should is not waited for. */
static void test_a_pipe_in_the_place_of_a_file_is_refused(void **state) {
        static const char *const paths[] = { "tile/0/000", "checkpoint" };

        for (size_t i = 0; i < ELEMENTS(paths); i++) {
                char whole[256];

                new_folder();
                assert_int_equal(export(&tiny, 300), 0);
                (void) snprintf(whole, sizeof(whole), "%s/%s", folder, paths[i]);
                assert_int_equal(unlink(whole), 0);
                assert_int_equal(mkfifo(whole, 0600), 0);
                assert_int_equal(export(&tiny, 300), -EBADMSG);
        }
}

/* Damage in the folder is told, and neither mended nor built upon. */
static void test_a_damaged_folder_is_refused(void **state) {
        static const char *const paths[] = { "tile/0/000", "tile/0/001.p/44", "checkpoint", "records.intoto.jsonl", "tile/entries/000", "tile/entries/001.p/44" };

        for (size_t i = 0; i < 2 * ELEMENTS(paths); i++) {
                const char *path = paths[i / 2];
                uint64_t size = i % 2 ? 700 : 300; /* as it is, near the file's end; or while it grows, near its beginning */
                _cleanup_free_ char *data = NULL, *found = NULL;
                size_t n, n_found, at;

                new_folder();
                assert_int_equal(export(&tiny, 300), 0);
                data = read_file(path, &n);
                at = i % 2 ? 40 : n - 40;
                data[at] ^= 1;
                write_file(path, data, n);
                assert_int_equal(export(&tiny, size), -EBADMSG);
                found = read_file(path, &n_found);
                assert_true(n_found == n && memcmp(found, data, n) == 0);
                assert_int_equal(inode("tile/entries/001"), 0);
                data[at] ^= 1;
                write_file(path, data, n);
                assert_int_equal(export(&tiny, size), 0);
                assert_lines(0, size);
        }
}

/* Lines that were lost, put in, put in another order, or of which the last has no end any more: nothing of them goes, for the log may have no more of them. */
static void test_lines_that_are_not_the_logs_stay_and_end_it(void **state) {
        _cleanup_free_ char *data = NULL;
        size_t n, first, second;

        new_folder();
        assert_int_equal(export(&tiny, 300), 0);
        data = read_file("records.intoto.jsonl", &n);
        first = tiny.records[0].envelope.n + 1;
        second = tiny.records[1].envelope.n + 1;
        for (unsigned what = 0; what < 8; what++) {
                _cleanup_free_ char *edited = malloc(2 * n), *found = NULL;
                size_t n_edited = n, n_found;

                memcpy(edited, data, n);
                switch (what) {
                case 0: memmove(edited, data + first, n_edited = n - first); break;
                case 1: memcpy(edited + n, data, first), n_edited = n + first; break;
                case 2: memcpy(edited, data + first, second), memcpy(edited + second, data, first); break;
                case 3: edited[n - 1] = ' '; break;
                case 4: (void) strcpy(edited + n, "garbage"), n_edited = n + 7; break;
                case 5: edited[n] = '\0', n_edited = n + 1; break; /* as a disk may leave it */
                case 6: (void) memcpy(edited + n, "\0\n", 2), n_edited = n + 2; break;
                default: (void) strcpy(edited + n, "garbage\n"), n_edited = n + 8; break;
                }
                write_file("records.intoto.jsonl", edited, n_edited);
                for (uint64_t size = 300; size <= 301; size++) {
                        assert_int_equal(export(&tiny, size), -EBADMSG);
                        found = (free(found), read_file("records.intoto.jsonl", &n_found));
                        assert_true(n_found == n_edited && memcmp(found, edited, n_found) == 0);
                }
        }
        write_file("records.intoto.jsonl", data, n);
        assert_int_equal(export(&tiny, 301), 0);
}

static void test_pruned_records_leave_out_their_bundles_alone(void **state) {
        new_folder();
        assert_int_equal(export_until(&tiny, 600, 10, UINT64_MAX), 0);
        assert_published(600);
        assert_leaves("tile/0/000", 0, 256);
        assert_int_equal(inode("tile/entries/000"), 0);
        assert_entries("tile/entries/001", 256, 256);
        assert_entries("tile/entries/002.p/88", 512, 88);
        assert_lines(10, 600);

        /* A pruned record is no other's. */
        {
                _cleanup_(record_tiles_freep) RecordTiles *tiles = NULL;
                const char *wrong = NULL;

                assert_int_equal(open_tiles(&tiny, 610, &tiles), 0);
                assert_int_equal(record_tiles_tree(tiles, tiny.leaves, 610 * sizeof(TreeHash), &wrong), 0);
                assert_int_equal(add_mark(tiles, 511), -EBADMSG);
                assert_int_equal(add_mark(tiles, 610), -EBADMSG);
        }

        /* The last one may be pruned, and a later export keeps what it has. */
        assert_int_equal(export_until(&tiny, 610, 610, UINT64_MAX), 0);
        assert_int_equal(export_until(&tiny, 700, 650, UINT64_MAX), 0);
        assert_published(700);
        assert_entries("tile/entries/001", 256, 256);
        assert_int_equal(inode("tile/entries/002.p/188"), 0);
}

static void test_one_at_a_time(void **state) {
        _cleanup_(record_tiles_freep) RecordTiles *first = NULL, *second = NULL;

        new_folder();
        assert_int_equal(open_tiles(&tiny, 10, &first), 0);
        assert_int_equal(open_tiles(&tiny, 10, &second), -EBUSY);
}

static int setup(void **state) {
        tiny_log_init(&tiny, RECORD_ED25519);
        tiny_log_grow(&tiny, 700, "x");
        return 0;
}

static int teardown(void **state) {
        tiny_log_done(&tiny);
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_an_export_is_extended_and_never_rewritten),
                cmocka_unit_test(test_large_logs_have_the_tiles_that_the_standard_counts),
                cmocka_unit_test(test_what_was_cut_short_is_taken_up),
                cmocka_unit_test(test_another_log_is_refused_and_nothing_changes),
                cmocka_unit_test(test_a_record_that_the_tree_does_not_hold_ends_it),
                cmocka_unit_test(test_a_pipe_in_the_place_of_a_file_is_refused),
                cmocka_unit_test(test_a_damaged_folder_is_refused),
                cmocka_unit_test(test_lines_that_are_not_the_logs_stay_and_end_it),
                cmocka_unit_test(test_pruned_records_leave_out_their_bundles_alone),
                cmocka_unit_test(test_one_at_a_time),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
