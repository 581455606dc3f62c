/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/hbm/under-test.h"

#include <errno.h>
#include <string.h>

#include "checks/text/cleanup.h"

int hbm_under_test_read(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        HbmRanges told;
        Hbm *hbm = chip_part(chip, &model_hbm, 0);

        if (!hbm)
                return -ENOENT;
        told = hbm->under_test;
        return hbm_ranges_format(&told, text, size);
}

int hbm_under_test_write(void *state, Chip *chip, unsigned index, const char *text) {
        static const struct {
                const char *word;
                int (*change)(HbmRanges *ranges, const HbmRange *range);
        } words[] = { { "begin ", hbm_ranges_add }, { "end ", hbm_ranges_remove } };
        Hbm *hbm = chip_part(chip, &model_hbm, 0);
        const MemoryShape *shape = hbm ? &hbm->memory.shape : NULL;

        for (size_t i = 0; shape && i < ELEMENTS(words); i++) {
                const char *rows = text + strlen(words[i].word);
                HbmRange range;

                if (strncmp(text, words[i].word, strlen(words[i].word)) != 0)
                        continue;
                if (hbm_range_take(&rows, shape->size[HBM_SID], shape->size[HBM_ROW], &range) < 0 || *rows || rows[-1] == ',')
                        return -EINVAL;
                return words[i].change(&hbm->under_test, &range);
        }
        return -EINVAL;
}
