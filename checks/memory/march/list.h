/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <errno.h>
#include <stdlib.h>

#define LIST_FIRST_ITEMS 32u

/* Room for one more than N items: 0, or -ENOMEM and the list is as it was. */
#define LIST_MAKE_ROOM(items, n, allocated)                                                                  \
        ({                                                                                                   \
                int _r = 0;                                                                                  \
                if ((n) >= (allocated)) {                                                                    \
                        size_t _wanted = (allocated) > 0 ? 2 * (allocated) : LIST_FIRST_ITEMS;               \
                        __typeof__(items) _grown = reallocarray(items, _wanted, sizeof(*(items)));           \
                        if (_grown) {                                                                        \
                                (items) = _grown;                                                            \
                                (allocated) = _wanted;                                                       \
                        } else                                                                               \
                                _r = -ENOMEM;                                                                \
                }                                                                                            \
                _r;                                                                                          \
        })
