/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A march as people write it, in the first line, is refused with a reason and its place or is a march that contradicts itself
 * nowhere; the rest says which of its reads failed, and the march is to explain it in bounded words.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checks/memory/march/syndrome.h"
#include "checks/text/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

static void judge_march(const March *march) {
        int holds = -1;

        HOLDS(march->n_elements > 0 && march->n_elements <= MARCH_ELEMENTS_MAX && march_operations(march) > 0);
        for (unsigned i = 0; i < march->n_elements; i++) {
                const MarchElement *element = &march->elements[i];

                HOLDS((element->direction == MARCH_DELAY) == (element->n_ops == 0) && element->n_ops <= MARCH_OPS_MAX);
                for (unsigned k = 0; k < element->n_ops; k++) {
                        int value = element->ops[k] & MARCH_DATA ? 1 : 0;

                        HOLDS(element->ops[k] & MARCH_WRITE || holds == value);
                        holds = value;
                }
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t n = end ? (size_t) (end - data) : size, offset = SIZE_MAX;
        _cleanup_free_ char *text = strndup((const char *) data, n);
        const char *wrong = NULL;
        MarchSyndrome syndrome;
        uint64_t failed = 0;
        March march;

        HOLDS(text);
        if (march_read(text, &march, &wrong, &offset) < 0) {
                HOLDS(wrong && offset <= strlen(text));
                return 0;
        }
        judge_march(&march);

        if (size > n + 1)
                memcpy(&failed, data + n + 1, size - n - 1 < sizeof(failed) ? size - n - 1 : sizeof(failed));
        march_syndrome_explain(&march, failed, (size & 1) != 0, &syndrome);
        HOLDS(memchr(syndrome.text, '\0', sizeof(syndrome.text)));
        HOLDS((syndrome.n_alone + syndrome.n_before + syndrome.n_after == 0) == (syndrome.text[0] == '\0'));
        return 0;
}
