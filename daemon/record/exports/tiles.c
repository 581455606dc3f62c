/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tiles
 *
 * A log as a folder of static files, c2sp.org/tlog-tiles@v0.1.0, which any web server can serve and any client of such logs read:
 *
 *     checkpoint                 the signed note; written last, so that nothing it promises is missing
 *     tile/L/N[.p/W]             256 hashes of level 8 L of the tree, or the W that there are yet
 *     tile/entries/N[.p/W]       leaf bodies, each behind its length in two bytes
 *     records.intoto.jsonl       the envelopes, one line each, in order, or that one was pruned
 *
 * Nothing that is there is written again: files appear under their names whole and synced, what is full stays as it is, and lines are
 * appended. What a run that was cut short has left is taken up by the next one; what is not of this log ends it, and stays.
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "checks/text/whole-file.h"
#include "daemon/record/encode/json.h"
#include "daemon/record/keys/checkpoint.h"
#include "daemon/record/keys/leaf.h"

#define TILE_WIDTH  256
#define TILE_HEIGHT 8 /* levels of the tree in one of tiles */
#define ENTRY_MAX   UINT16_MAX
#define LINES       "records.intoto.jsonl"
#define LINE_BYTES  (RECORD_ENVELOPE_MAX + 2) /* with its end and a zero */
#define PATH_BYTES  RECORD_TILE_PATH

struct RecordTiles {
        int folder;  /* locked */
        FILE *lines; /* read up to their end, and appended to */
        const RecordKeyring *keyring;
        char *note;
        size_t n_note;
        Checkpoint old; /* what is published there; size 0: nothing */
        Checkpoint new; /* what `note` says */
        TreeHash *leaves;
        off_t end;   /* of the whole lines that were there */
        char *torn;  /* stands behind them; NULL: nothing does */
        uint64_t next_record;
        Printer entries; /* of the bundle that next_record belongs to */
        unsigned n_entries;
        uint64_t n_pruned; /* records that were left out, since there are no envelopes of them */
};

/* ---- files ---- */

RecordTiles *record_tiles_free(RecordTiles *tiles) {
        if (!tiles)
                return NULL;
        if (tiles->lines)
                (void) fclose(tiles->lines);
        close_fd(tiles->folder);
        free(tiles->note);
        free(tiles->leaves);
        printer_done(&tiles->entries);
        free(tiles->torn);
        free(tiles);
        return NULL;
}

static int wrong(const char **ret_wrong, const char *sentence) {
        *ret_wrong = sentence;
        return -EBADMSG;
}

/* Folders of PATH that are not there yet. */
static int make_folders(int folder, const char *path) {
        char part[PATH_BYTES];

        for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
                (void) snprintf(part, sizeof(part), "%.*s", (int) (slash - path), path);
                if (mkdirat(folder, part, 0755) < 0 && errno != EEXIST)
                        return -errno;
        }
        return 0;
}

/* Durable under its name, in folders that are durable when all is synced. */
static int write_file(int folder, const char *path, const void *data, size_t n) {
        int r = make_folders(folder, path);

        return r < 0 ? r : whole_file_replace(folder, path, 0644, data, n);
}

/* What never changes: what is there already must be the same. */
static int write_once(int folder, const char *path, const void *data, size_t n, const char **ret_wrong) {
        _cleanup_free_ char *found = NULL;
        size_t n_found = 0;
        int r;

        r = whole_file_read(folder, path, n, &found, &n_found);
        if (r == -ENOENT)
                return write_file(folder, path, data, n);
        if (r < 0 && r != -EFBIG && r != -EBADMSG)
                return r;
        return r == 0 && n_found == n && memcmp(found, data, n) == 0 ? 0 : wrong(ret_wrong, "a tile there is not that of this log");
}

char *record_tile_path(const char *level, uint64_t index, unsigned width, char path[static PATH_BYTES]) {
        uint64_t unit = 1;
        int n = snprintf(path, PATH_BYTES, "tile/%s/", level);

        while (index / unit >= 1000)
                unit *= 1000;
        for (; unit > 1; unit /= 1000)
                n += snprintf(path + n, PATH_BYTES - (size_t) n, "x%03u/", (unsigned) (index / unit % 1000));
        n += snprintf(path + n, PATH_BYTES - (size_t) n, "%03u", (unsigned) (index % 1000));
        if (width < TILE_WIDTH)
                (void) snprintf(path + n, PATH_BYTES - (size_t) n, ".p/%u", width);
        return path;
}

/* ---- opening ---- */

static int open_folder(RecordTiles *tiles, const char *path) {
        _cleanup_close_ int lines = -EBADF;

        if (mkdir(path, 0755) < 0 && errno != EEXIST)
                return -errno;
        tiles->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (tiles->folder < 0)
                return -errno;
        if (flock(tiles->folder, LOCK_EX | LOCK_NB) < 0)
                return errno == EWOULDBLOCK ? -EBUSY : -errno;
        lines = openat(tiles->folder, LINES, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (lines < 0)
                return -errno;
        tiles->lines = fdopen(lines, "a+");
        if (!tiles->lines)
                return -errno;
        (void) TAKE_FD(lines);
        return 0;
}

/* What was published before: of the same log, and no more than there is now. */
static int read_old(RecordTiles *tiles, const CheckpointPolicy *policy, const char **ret_wrong) {
        _cleanup_free_ char *text = NULL;
        CheckpointSeen seen;
        const char *why;
        size_t n = 0;
        int r;

        r = whole_file_read(tiles->folder, "checkpoint", NOTE_MAX, &text, &n);
        if (r == -ENOENT)
                return 0;
        if (r == 0)
                r = checkpoint_verify(text, n, policy, &tiles->old, &seen, &why);
        if (r == -EBADMSG || r == -EFBIG)
                return wrong(ret_wrong, "the checkpoint there is not one of this log");
        if (r == 0 && tiles->old.size > tiles->new.size)
                return wrong(ret_wrong, "the log has fewer records than were exported from it: it is an old copy");
        return r;
}

int record_tiles_open(const char *path, const char *vkey, const char *note, size_t n, const RecordKeyring *keyring, RecordTiles **ret,
                      const char **ret_wrong) {
        _cleanup_(record_tiles_freep) RecordTiles *tiles = NULL;
        CheckpointPolicy policy = {};
        CheckpointSeen seen;
        int r;

        *ret_wrong = NULL;
        if (note_key_parse(&policy.log, vkey) < 0 || policy.log.type != NOTE_LOG)
                return wrong(ret_wrong, "the log's key is none");
        tiles = malloc(sizeof(*tiles));
        if (!tiles)
                return -ENOMEM;
        *tiles = (RecordTiles) { .folder = -EBADF, .keyring = keyring, .note = strndup(note, n), .n_note = n };
        if (!tiles->note)
                return -ENOMEM;
        r = checkpoint_verify(note, n, &policy, &tiles->new, &seen, ret_wrong);
        if (r == 0)
                r = open_folder(tiles, path);
        if (r == 0)
                r = read_old(tiles, &policy, ret_wrong);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(tiles);
        return 0;
}

uint64_t record_tiles_size(const RecordTiles *tiles) {
        return tiles->new.size;
}

/* ---- the tree ---- */

/* The leaves make the tree of CHECKPOINT. */
static int check_tree(const RecordTiles *tiles, const Checkpoint *checkpoint, const char *sentence, const char **ret_wrong) {
        TreeHash whole[TREE_LEVELS], root;
        Frontier tree = {};
        int r = 0;

        while (r >= 0 && tree.size < checkpoint->size)
                r = frontier_append(&tree, &tiles->leaves[tree.size], whole);
        if (r >= 0)
                r = frontier_root(&tree, &root);
        if (r < 0)
                return r;
        return memcmp(&root, &checkpoint->root, sizeof(root)) == 0 ? 0 : wrong(ret_wrong, sentence);
}

/* Tile INDEX of those that HASHES, all of LEVEL, are cut into. */
static int write_tile(const RecordTiles *tiles, unsigned level, const TreeHash *hashes, uint64_t index, unsigned width, const char **ret_wrong) {
        char path[PATH_BYTES], word[4];

        (void) snprintf(word, sizeof(word), "%u", level);
        (void) record_tile_path(word, index, width, path);
        return write_once(tiles->folder, path, &hashes[index * TILE_WIDTH], width * sizeof(TreeHash), ret_wrong);
}

/* Full ones, and those that are not full yet, or were not in the old tree. */
static int write_level(const RecordTiles *tiles, unsigned level, const TreeHash *hashes, const char **ret_wrong) {
        const uint64_t sizes[] = { tiles->old.size >> (level * TILE_HEIGHT), tiles->new.size >> (level * TILE_HEIGHT) };
        int r = 0;

        for (uint64_t i = 0; r == 0 && i < sizes[1] / TILE_WIDTH; i++)
                r = write_tile(tiles, level, hashes, i, TILE_WIDTH, ret_wrong);
        for (size_t i = 0; i < ELEMENTS(sizes); i++)
                if (r == 0 && sizes[i] % TILE_WIDTH > 0)
                        r = write_tile(tiles, level, hashes, sizes[i] / TILE_WIDTH, sizes[i] % TILE_WIDTH, ret_wrong);
        return r;
}

/* Makes of N hashes those of the next level of tiles, in their place: the roots of full tiles. */
static int fold_level(TreeHash *hashes, uint64_t n) {
        int r = 0;

        for (unsigned level = 0; level < TILE_HEIGHT; level++) {
                n /= 2;
                for (uint64_t i = 0; r == 0 && i < n; i++)
                        r = tree_node(&hashes[2 * i], &hashes[2 * i + 1], &hashes[i]);
        }
        return r;
}

static int write_tree(const RecordTiles *tiles, const char **ret_wrong) {
        _cleanup_free_ TreeHash *hashes = malloc(tiles->new.size * sizeof(TreeHash) + 1);
        uint64_t n = tiles->new.size;
        int r = hashes ? 0 : -ENOMEM;

        if (hashes)
                memcpy(hashes, tiles->leaves, n * sizeof(TreeHash));
        for (unsigned level = 0; r == 0 && n > 0; level++, n /= TILE_WIDTH) {
                r = write_level(tiles, level, hashes, ret_wrong);
                if (r == 0)
                        r = fold_level(hashes, n);
        }
        return r;
}

/* ---- the records ---- */

static int write_entries(RecordTiles *tiles, const char **ret_wrong) {
        char path[PATH_BYTES];

        (void) record_tile_path("entries", (tiles->next_record - 1) / TILE_WIDTH, tiles->n_entries, path);
        return tiles->entries.error ?: write_once(tiles->folder, path, tiles->entries.text, tiles->entries.n, ret_wrong);
}

/* Of a bundle that is not full yet. */
static int write_last_entries(RecordTiles *tiles, const char **ret_wrong) {
        unsigned left = (unsigned) (tiles->next_record % TILE_WIDTH);

        return left > 0 && tiles->n_entries == left ? write_entries(tiles, ret_wrong) : 0;
}

/* A bundle begins at a multiple of its width, and has no gaps. */
static int add_entry(RecordTiles *tiles, const Leaf *leaf, const char **ret_wrong) {
        unsigned place = (unsigned) (tiles->next_record++ % TILE_WIDTH);

        assert(leaf->body.n <= ENTRY_MAX);
        if (place == 0)
                tiles->entries.n = tiles->n_entries = 0;
        if (tiles->n_entries != place)
                return 0;
        printer_raw(&tiles->entries, (const uint8_t[]) { (uint8_t) (leaf->body.n >> 8), (uint8_t) leaf->body.n }, 2);
        printer_raw(&tiles->entries, leaf->body.text, leaf->body.n);
        return ++tiles->n_entries == TILE_WIDTH ? write_entries(tiles, ret_wrong) : 0;
}

static int add_record(RecordTiles *tiles, const char *line, size_t n, const char **ret_wrong) {
        _cleanup_(leaf_done) Leaf leaf = {};
        uint8_t id[DIGEST_BYTES];
        uint64_t pruned;
        int r;

        if (tiles->next_record == tiles->new.size)
                return wrong(ret_wrong, "there are more records than the checkpoint says");
        if (leaf_read_mark(line, n, &pruned, id) == 0 && pruned == tiles->next_record) {
                tiles->n_pruned++;
                tiles->n_entries = TILE_WIDTH; /* what follows in this bundle has a gap before it */
                tiles->next_record++;
                return 0;
        }
        r = leaf_make(tiles->keyring, line, n, &leaf, ret_wrong);
        if (r == 0 && memcmp(&leaf.hash, &tiles->leaves[tiles->next_record], sizeof(TreeHash)) != 0)
                r = wrong(ret_wrong, "it is not the one that the log's tree holds there");
        /* A line tells the next run where to go on: what belongs to it is there before. */
        return r < 0 ? r : add_entry(tiles, &leaf, ret_wrong);
}

/* ---- the lines ---- */

static int take_line(RecordTiles *tiles, const char *line, size_t n, const char **ret_wrong) {
        int r = add_record(tiles, line, n, ret_wrong);

        if (r == -EBADMSG || r == -ENOKEY)
                return wrong(ret_wrong, "a line of " LINES " there is not that record of this log");
        tiles->end += (off_t) n + 1;
        /* The bundle that was published with the old checkpoint. */
        return r == 0 && tiles->next_record == tiles->old.size ? write_last_entries(tiles, ret_wrong) : r;
}

/* The lines that an earlier run has left are held against the log like new ones: a line that is none of it would be handed on as one for ever. */
static int take_lines(RecordTiles *tiles, const char **ret_wrong) {
        _cleanup_free_ char *text = malloc(LINE_BYTES);

        if (!text)
                return -ENOMEM;
        while (fgets(text, LINE_BYTES, tiles->lines)) {
                size_t n = strlen(text);
                int r;

                if (n == 0 || text[n - 1] != '\n') {
                        if (!feof(tiles->lines) || tiles->end + (off_t) n != ftello(tiles->lines))
                                return wrong(ret_wrong, "a line of " LINES " there is no record");
                        tiles->torn = TAKE_PTR(text);
                        break;
                }
                r = take_line(tiles, text, n - 1, ret_wrong);
                if (r < 0)
                        return r;
        }
        if (ferror(tiles->lines))
                return -EIO;
        tiles->n_pruned = 0; /* of those that are added now */
        return 0;
}

/* In the place of what a run that was cut short has written of it. What is no beginning of it may be all that there is of another. */
static int append_line(RecordTiles *tiles, const char *line, size_t n, const char **ret_wrong) {
        size_t n_torn = tiles->torn ? strlen(tiles->torn) : 0;

        if (n_torn > n || memcmp(line, tiles->torn ?: "", n_torn) != 0)
                return wrong(ret_wrong, "what " LINES " there ends with is no beginning of the next record");
        if (n_torn > 0 && ftruncate(fileno(tiles->lines), tiles->end) < 0)
                return -errno;
        free(TAKE_PTR(tiles->torn));
        return fwrite(line, 1, n, tiles->lines) == n && fputc('\n', tiles->lines) != EOF ? 0 : -errno;
}

int record_tiles_add(RecordTiles *tiles, const char *line, size_t n, const char **ret_wrong) {
        int r = add_record(tiles, line, n, ret_wrong);

        return r < 0 ? r : append_line(tiles, line, n, ret_wrong);
}

int record_tiles_tree(RecordTiles *tiles, const void *leaves, size_t n, const char **ret_wrong) {
        int r;

        if (n != tiles->new.size * sizeof(TreeHash))
                return wrong(ret_wrong, "the log has not told all its leaves");
        tiles->leaves = malloc(n + 1);
        if (!tiles->leaves)
                return -ENOMEM;
        memcpy(tiles->leaves, leaves, n);
        r = check_tree(tiles, &tiles->new, "the log's leaves are not those of its checkpoint", ret_wrong);
        if (r == 0 && tiles->old.size > 0)
                r = check_tree(tiles, &tiles->old, "the log is not the one that was exported there, grown", ret_wrong);
        if (r == 0)
                r = take_lines(tiles, ret_wrong);
        return r < 0 ? r : write_tree(tiles, ret_wrong);
}

uint64_t record_tiles_next(const RecordTiles *tiles) {
        return tiles->next_record;
}

uint64_t record_tiles_pruned(const RecordTiles *tiles) {
        return tiles->n_pruned;
}

int record_tiles_publish(RecordTiles *tiles, const char **ret_wrong) {
        int r;

        if (tiles->next_record != tiles->new.size)
                return wrong(ret_wrong, "the log has not told all its records");
        if (tiles->torn)
                return wrong(ret_wrong, LINES " there has more than the log's records");
        r = write_last_entries(tiles, ret_wrong);
        if (r == 0 && (fflush(tiles->lines) == EOF || syncfs(tiles->folder) < 0))
                r = -errno;
        if (r == 0)
                r = whole_file_replace(tiles->folder, "checkpoint", 0644, tiles->note, tiles->n_note);
        return r;
}
