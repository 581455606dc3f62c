/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/identity/parameters.h"

#include "checks/plan/plan.h"

static const IdentityParameters defaults;

extern const YamlField parameters_identity[];
extern const size_t parameters_identity_bytes;
extern const void *const parameters_identity_defaults;

const YamlField parameters_identity[] = {
        YAML_STRING("firmware", IdentityParameters, firmware, 1, 64, .summary = "version every chip must run; else that of most chips of its server"),
        {}
};
const size_t parameters_identity_bytes = sizeof(IdentityParameters);
const void *const parameters_identity_defaults = &defaults;
