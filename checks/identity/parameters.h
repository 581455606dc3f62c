/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

typedef struct IdentityParameters {
        char *firmware; /* what every chip must run; NULL: what most of its server run */
} IdentityParameters;
