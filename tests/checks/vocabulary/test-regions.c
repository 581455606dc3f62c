/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/regions.h"

/* Counts how often each inner part of each outer one is in a region. */
static void cover(const Partition *partition) {
        uint8_t *times = calloc((size_t) partition->n_outer * partition->n_inner, 1);

        for (unsigned region = 0; region < partition_regions(partition); region++) {
                uint32_t outer, first, last;

                partition_region(partition, region, &outer, &first, &last);
                assert_true(outer < partition->n_outer && first <= last && last < partition->n_inner);
                for (uint32_t i = first; i <= last; i++)
                        times[(size_t) outer * partition->n_inner + i]++;
        }
        for (size_t i = 0; i < (size_t) partition->n_outer * partition->n_inner; i++)
                assert_int_equal(times[i], 1);
        free(times);
}

static void regions_cover_each_part_once(void **state) {
        static const uint32_t shapes[][3] = {
                { 3, 16384, 32 }, { 2, 24576, 32 }, { 3, 16384, 85 }, { 1, 1, 1 }, { 256, 7, 1 }, { 8, 128, 32 },
                { 2, 16383, 31 }, { 1, 256, 256 }, { 1, 257, 256 }, { 5, 51, 51 },
        };
        Partition partition;

        for (size_t i = 0; i < ELEMENTS(shapes); i++) {
                assert_int_equal(partition_new("sid", shapes[i][0], "row", shapes[i][1], shapes[i][2], &partition), 0);
                assert_int_equal(partition_regions(&partition), shapes[i][0] * shapes[i][2]);
                cover(&partition);
        }
}

static void a_partition_reads_as_it_is_written(void **state) {
        char text[REGIONS_PARTITION_MAX], where[REGIONS_WHERE_MAX];
        Partition partition, again;

        assert_int_equal(partition_new("sid", 3, "row", 16384, 32, &partition), 0);
        assert_string_equal(partition_format(&partition, text), "sid 3 row 16384/32");
        assert_int_equal(partition_parse(text, &again), 0);
        assert_true(partition_equal(&partition, &again));
        assert_string_equal(partition_where(&partition, 33, where), "sid1 row512-1023");
        assert_int_equal(partition_parse("sid 3 row 16384/31", &again), 0);
        assert_false(partition_equal(&partition, &again));
}

static void what_is_no_partition_is_refused(void **state) {
        static const char *const texts[] = {
                "", "sid", "sid 3", "sid 3 row", "sid 3 row 16384", "sid 3 row 16384/", "sid 3 row /32", "sid 0 row 16384/32",
                "sid 3 row 16384/0", "sid 3 row 31/32", "sid 3 row 16384/86", "sid 257 row 16384/1", "sid 3 row 16384/32 ",
                " sid 3 row 16384/32", "sid  3 row 16384/32", "Sid 3 row 16384/32", "sid 03 row 16384/32", "sid +3 row 16384/32",
                "sid -3 row 16384/32", "sid 3 row 99999999999/32", "sid 4294967297 row 16384/1", "sid 3 row 16777217/2",
                "sidsidsidsidsids 3 row 16384/32", "s/d 3 row 16384/32", "sid 3 row 16384/32/2",
        };
        Partition partition;

        for (size_t i = 0; i < ELEMENTS(texts); i++)
                if (partition_parse(texts[i], &partition) != -EINVAL)
                        fail_msg("'%s' was taken", texts[i]);
}

static void a_set_reads_as_it_is_written(void **state) {
        char text[REGIONS_TEXT_MAX];
        RegionSet set, again;

        srandom(1);
        for (unsigned n = 0; n < 2000; n++) {
                unsigned total = 1 + (unsigned) random() % REGIONS_MAX, density = (unsigned) random() % 5, count = 0;

                set = (RegionSet) {};
                for (unsigned region = 0; region < total; region++)
                        if (random() % 4 < density) {
                                region_set_add(&set, region);
                                count++;
                        }
                assert_int_equal(region_set_count(&set), count);
                assert_int_equal(region_set_parse(region_set_format(&set, text), total, &again), 0);
                assert_memory_equal(&set, &again, sizeof(set));
        }

        /* The longest there is. */
        set = (RegionSet) {};
        for (unsigned region = 0; region < REGIONS_MAX; region += 2)
                region_set_add(&set, region);
        assert_true(strlen(region_set_format(&set, text)) < REGIONS_TEXT_MAX - 1);
        assert_int_equal(region_set_parse(text, REGIONS_MAX, &again), 0);
}

static void what_is_no_set_is_refused(void **state) {
        static const char *const texts[] = {
                ",", "1,", ",1", "1-", "-1", "1--2", "2-1", "1-1", "1,1", "2,1", "1,2", "1-3,2-4", "1-3,4", "96", "0-96",
                "01", "1 ", " 1", "1;2", "a", "99999999999999999999", "4294967296", "1-2-3", "0x1", "1,,2",
        };
        RegionSet set;

        for (size_t i = 0; i < ELEMENTS(texts); i++)
                if (region_set_parse(texts[i], 96, &set) != -EINVAL)
                        fail_msg("'%s' was taken", texts[i]);
        assert_int_equal(region_set_parse("", 96, &set), 0);
        assert_int_equal(region_set_parse("0-95", 96, &set), 0);
}

static void regions_map_to_what_overlaps_them(void **state) {
        Partition from, to;
        RegionSet set, mapped;
        char text[REGIONS_TEXT_MAX];

        srandom(2);
        for (unsigned n = 0; n < 300; n++) {
                uint32_t inner = 1 + (uint32_t) random() % 60;
                bool hit[180] = {};

                assert_int_equal(partition_new("sid", 3, "row", inner, 1 + (uint32_t) random() % inner, &from), 0);
                assert_int_equal(partition_new("sid", 3, "row", inner, 1 + (uint32_t) random() % inner, &to), 0);
                set = (RegionSet) {};
                for (unsigned region = 0; region < partition_regions(&from); region++) {
                        uint32_t outer, first, last;

                        if (random() % 3 > 0)
                                continue;
                        region_set_add(&set, region);
                        partition_region(&from, region, &outer, &first, &last);
                        for (uint32_t row = first; row <= last; row++)
                                hit[outer * inner + row] = true;
                }

                mapped = partition_map(&from, &set, &to);
                for (unsigned region = 0; region < partition_regions(&to); region++) {
                        uint32_t outer, first, last;
                        bool any = false;

                        partition_region(&to, region, &outer, &first, &last);
                        for (uint32_t row = first; row <= last; row++)
                                any = any || hit[outer * inner + row];
                        assert_int_equal(region_set_has(&mapped, region), any);
                }
        }

        assert_int_equal(partition_parse("sid 2 row 24576/32", &to), 0);
        mapped = partition_map(&from, &set, &to);
        assert_string_equal(region_set_format(&mapped, text), "");
}

static void regions_must_agree_with_themselves(void **state) {
        Regions good = { .position = 5 }, regions;

        assert_non_null(regions_wrong(&good));
        assert_int_equal(partition_new("sid", 3, "row", 16384, 2, &good.partition), 0);
        assert_null(regions_wrong(&good));
        region_set_add(&good.tested, 1);
        region_set_add(&good.failed, 1);
        region_set_add(&good.occupied, 2);
        assert_null(regions_wrong(&good));

        regions = good;
        regions.position = 6;
        assert_non_null(regions_wrong(&regions));
        regions = good;
        region_set_add(&regions.failed, 3);
        assert_non_null(regions_wrong(&regions));
        regions = good;
        region_set_add(&regions.tested, 2);
        assert_non_null(regions_wrong(&regions));
        regions = good;
        region_set_add(&regions.tested, 6);
        assert_non_null(regions_wrong(&regions));
        regions = good;
        region_set_add(&regions.occupied, 200);
        assert_non_null(regions_wrong(&regions));

        /* A region that is not proven has a reason, and was neither tested nor in use. */
        for (unsigned region = 1; region < 7; region++) {
                regions = good;
                region_set_add(&regions.unproven, region);
                assert_non_null(regions_wrong(&regions));
                regions_add_reason(&regions, "row 7 is not its own");
                regions_add_reason(&regions, "row 7 is not its own");
                assert_string_equal(regions.because, "row 7 is not its own");
                assert_int_equal(regions_wrong(&regions) == NULL, region >= 3 && region < 6);
        }

        /* What reads find wrong in a region that was not tested keeps it from being proven. */
        regions = good;
        region_set_add(&regions.unproven, 3);
        regions_add_reason(&regions, "row 7 is not its own");
        region_set_add(&regions.altered, 3);
        region_set_add(&regions.suspicious, 3);
        assert_null(regions_wrong(&regions));
        region_set_add(&regions.suspicious, 1);
        assert_non_null(regions_wrong(&regions));
        regions.suspicious = (RegionSet) {};
        region_set_add(&regions.altered, 1);
        assert_non_null(regions_wrong(&regions));

        /* What failed together may have been tested in this scan or not, but it exists. */
        regions = good;
        regions.joined = region_set_range(0, 6);
        regions.together = region_set_range(4, 2);
        assert_null(regions_wrong(&regions));
        region_set_add(&regions.joined, 6);
        assert_non_null(regions_wrong(&regions));
        regions.joined = (RegionSet) {};
        region_set_add(&regions.together, 200);
        assert_non_null(regions_wrong(&regions));

        regions = good;
        regions_add_reason(&regions, "none");
        assert_non_null(regions_wrong(&regions));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(regions_cover_each_part_once),
                cmocka_unit_test(a_partition_reads_as_it_is_written),
                cmocka_unit_test(what_is_no_partition_is_refused),
                cmocka_unit_test(a_set_reads_as_it_is_written),
                cmocka_unit_test(what_is_no_set_is_refused),
                cmocka_unit_test(regions_map_to_what_overlaps_them),
                cmocka_unit_test(regions_must_agree_with_themselves),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
