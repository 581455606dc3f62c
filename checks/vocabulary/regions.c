/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/vocabulary/regions.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- partitions ---- */

static bool word_is_valid(const char *word) {
        size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz");

        return n > 0 && n < REGIONS_WORD_MAX && word[n] == '\0';
}

int partition_new(const char *outer, uint32_t n_outer, const char *inner, uint32_t n_inner, uint32_t n_slices, Partition *ret) {
        if (!word_is_valid(outer) || !word_is_valid(inner) || n_outer == 0 || n_slices == 0 || n_slices > n_inner ||
            n_inner > (UINT32_C(1) << 24) || (uint64_t) n_outer * n_slices > REGIONS_MAX)
                return -EINVAL;

        *ret = (Partition) { .n_outer = n_outer, .n_inner = n_inner, .n_slices = n_slices };
        memcpy(ret->outer, outer, strlen(outer) + 1);
        memcpy(ret->inner, inner, strlen(inner) + 1);
        return 0;
}

/* A word and a blank. */
static bool take_word(const char **text, char ret[static REGIONS_WORD_MAX]) {
        size_t n = strcspn(*text, " ");

        if (n >= REGIONS_WORD_MAX || (*text)[n] != ' ')
                return false;

        memcpy(ret, *text, n);
        ret[n] = '\0';
        *text += n + 1;
        return true;
}

/* Without leading zeros, followed by END, which is passed over where it is not the end of the text. */
static bool take_number(const char **text, char end, uint32_t *ret) {
        const char *at = *text;
        uint64_t value = 0;

        if (*at < '0' || *at > '9' || (at[0] == '0' && at[1] >= '0' && at[1] <= '9'))
                return false;
        for (; *at >= '0' && *at <= '9' && value <= UINT32_MAX; at++)
                value = value * 10 + (unsigned) (*at - '0');
        if (value > UINT32_MAX || *at != end)
                return false;

        *text = end ? at + 1 : at;
        *ret = (uint32_t) value;
        return true;
}

int partition_parse(const char *text, Partition *ret) {
        char outer[REGIONS_WORD_MAX], inner[REGIONS_WORD_MAX];
        uint32_t n_outer, n_inner, n_slices;

        if (!take_word(&text, outer) || !take_number(&text, ' ', &n_outer) || !take_word(&text, inner) ||
            !take_number(&text, '/', &n_inner) || !take_number(&text, '\0', &n_slices))
                return -EINVAL;

        return partition_new(outer, n_outer, inner, n_inner, n_slices, ret);
}

char *partition_format(const Partition *partition, char text[static REGIONS_PARTITION_MAX]) {
        (void) snprintf(text, REGIONS_PARTITION_MAX, "%s %u %s %u/%u", partition->outer, partition->n_outer,
                        partition->inner, partition->n_inner, partition->n_slices);
        return text;
}

bool partition_equal(const Partition *a, const Partition *b) {
        return strcmp(a->outer, b->outer) == 0 && strcmp(a->inner, b->inner) == 0 && a->n_outer == b->n_outer &&
               a->n_inner == b->n_inner && a->n_slices == b->n_slices;
}

unsigned partition_regions(const Partition *partition) {
        return partition->n_outer * partition->n_slices;
}

unsigned partition_run(const Partition *partition, const RegionSet *set, unsigned first) {
        unsigned end = (first / partition->n_slices + 1) * partition->n_slices, n = 0;

        while (first + n < end && region_set_has(set, first + n))
                n++;
        return n;
}

void partition_region(const Partition *partition, unsigned region, uint32_t *ret_outer, uint32_t *ret_first, uint32_t *ret_last) {
        uint64_t slice = region % partition->n_slices;

        assert(region < partition_regions(partition));

        *ret_outer = region / partition->n_slices;
        *ret_first = (uint32_t) (slice * partition->n_inner / partition->n_slices);
        *ret_last = (uint32_t) ((slice + 1) * partition->n_inner / partition->n_slices - 1);
}

char *partition_where(const Partition *partition, unsigned region, char text[static REGIONS_WHERE_MAX]) {
        uint32_t outer, first, last;

        partition_region(partition, region, &outer, &first, &last);
        (void) snprintf(text, REGIONS_WHERE_MAX, "%s%u %s%u-%u", partition->outer, outer, partition->inner, first, last);
        return text;
}

/* ---- sets ---- */

void region_set_add(RegionSet *set, unsigned region) {
        assert(region < REGIONS_MAX);
        set->words[region / 64] |= UINT64_C(1) << region % 64;
}

RegionSet region_set_range(unsigned first, unsigned n) {
        RegionSet set = {};

        for (unsigned i = 0; i < n; i++)
                region_set_add(&set, first + i);
        return set;
}

void region_set_remove(RegionSet *set, const RegionSet *others) {
        for (unsigned i = 0; i < REGIONS_MAX / 64; i++)
                set->words[i] &= ~others->words[i];
}

void region_set_unite(RegionSet *set, const RegionSet *others) {
        for (unsigned i = 0; i < REGIONS_MAX / 64; i++)
                set->words[i] |= others->words[i];
}

void region_set_keep(RegionSet *set, const RegionSet *others) {
        for (unsigned i = 0; i < REGIONS_MAX / 64; i++)
                set->words[i] &= others->words[i];
}

unsigned region_set_count(const RegionSet *set) {
        unsigned n = 0;

        for (unsigned i = 0; i < REGIONS_MAX / 64; i++)
                n += (unsigned) __builtin_popcountll(set->words[i]);
        return n;
}

bool region_set_meets(const RegionSet *a, const RegionSet *b) {
        for (unsigned i = 0; i < REGIONS_MAX / 64; i++)
                if (a->words[i] & b->words[i])
                        return true;
        return false;
}

bool region_set_contains(const RegionSet *a, const RegionSet *b) {
        for (unsigned i = 0; i < REGIONS_MAX / 64; i++)
                if (b->words[i] & ~a->words[i])
                        return false;
        return true;
}

char *region_set_format(const RegionSet *set, char text[static REGIONS_TEXT_MAX]) {
        size_t n = 0;

        text[0] = '\0';
        for (unsigned first = 0, last; first < REGIONS_MAX; first = last + 1) {
                for (last = first; last + 1 < REGIONS_MAX && region_set_has(set, first) && region_set_has(set, last + 1); last++)
                        ;
                if (!region_set_has(set, first))
                        continue;
                n += (size_t) snprintf(text + n, REGIONS_TEXT_MAX - n, "%s%u", n > 0 ? "," : "", first);
                if (last > first)
                        n += (size_t) snprintf(text + n, REGIONS_TEXT_MAX - n, "-%u", last);
        }

        return text;
}

/* Reads all that looks like it, and believes what comes out the same when it is written again. */
int region_set_parse(const char *text, unsigned total, RegionSet *ret) {
        char again[REGIONS_TEXT_MAX];
        const char *at = text;
        RegionSet set = {};

        while (*at) {
                uint32_t first, last;

                char end = at[strspn(at, "0123456789")];

                if ((end != '-' && end != ',' && end != '\0') || !take_number(&at, end, &first))
                        return -EINVAL;
                last = first;
                if (end == '-') {
                        end = at[strspn(at, "0123456789")];
                        if ((end != ',' && end != '\0') || !take_number(&at, end, &last))
                                return -EINVAL;
                }
                if (last < first || last >= total || last >= REGIONS_MAX)
                        return -EINVAL;
                for (unsigned region = first; region <= last; region++)
                        region_set_add(&set, region);
        }
        if (strcmp(region_set_format(&set, again), text) != 0)
                return -EINVAL;

        *ret = set;
        return 0;
}

static void map_region(const Partition *from, unsigned region, const Partition *to, RegionSet *ret) {
        uint32_t outer, first, last, other, begin, end;

        partition_region(from, region, &outer, &first, &last);
        for (unsigned i = outer * to->n_slices; i < (outer + 1) * to->n_slices; i++) {
                partition_region(to, i, &other, &begin, &end);
                if (begin <= last && first <= end)
                        region_set_add(ret, i);
        }
}

RegionSet partition_map(const Partition *from, const RegionSet *set, const Partition *to) {
        RegionSet mapped = {};

        if (strcmp(from->outer, to->outer) != 0 || strcmp(from->inner, to->inner) != 0 || from->n_outer != to->n_outer ||
            from->n_inner != to->n_inner)
                return mapped;

        for (unsigned region = 0; region < partition_regions(from); region++)
                if (region_set_has(set, region))
                        map_region(from, region, to, &mapped);
        return mapped;
}

/* ---- what a scan did ---- */

static bool is_within(const RegionSet *set, unsigned total) {
        for (unsigned region = total; region < REGIONS_MAX; region++)
                if (region_set_has(set, region))
                        return false;
        return true;
}

const char *regions_wrong(const Regions *regions) {
        unsigned total = partition_regions(&regions->partition);

        if (total == 0 || total > REGIONS_MAX)
                return "a partition without regions";
        if (regions->position >= total)
                return "a position that is no region";
        if (!is_within(&regions->tested, total) || !is_within(&regions->occupied, total))
                return "a region that the partition does not have";
        if (!region_set_contains(&regions->tested, &regions->failed))
                return "a region that failed untested";
        if (!region_set_contains(&regions->unproven, &regions->altered) || !region_set_contains(&regions->unproven, &regions->suspicious))
                return "a region in which reads found something wrong and that is not one that was not proven";
        if (region_set_meets(&regions->tested, &regions->occupied))
                return "a region that was tested and left alone";
        if (!is_within(&regions->unproven, total) || !is_within(&regions->joined, total) || !is_within(&regions->together, total))
                return "a region that the partition does not have";
        if (region_set_meets(&regions->unproven, &regions->tested) || region_set_meets(&regions->unproven, &regions->occupied))
                return "a region that was tested or in use and not proven";
        if ((region_set_count(&regions->unproven) > 0) != (regions->because[0] != '\0'))
                return "regions that were not proven without a reason, or a reason without them";
        return NULL;
}

void regions_add_reason(Regions *regions, const char *why) {
        size_t n = strlen(regions->because);

        if (n + strlen(why) + 3 > sizeof(regions->because) || strstr(regions->because, why))
                return;
        (void) snprintf(regions->because + n, sizeof(regions->because) - n, "%s%s", n > 0 ? "; " : "", why);
}
