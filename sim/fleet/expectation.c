/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/fleet/expectation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/vocabulary/catalogue.h"
#include "checks/vocabulary/location.h"

const char *const expectation_words[] = {
        [RESULT_PASSED] = "passed", [RESULT_WARNED] = "warned", [RESULT_FAILED] = "failed",
        [RESULT_INCONCLUSIVE] = "inconclusive", NULL,
};

static int read_code(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        const CatalogueEntry *entry;
        const char *code;
        int r;

        r = yaml_scalar(yaml, node, "a code of the catalogue", &code);
        if (r < 0)
                return r;
        entry = catalogue_find(code);
        if (!entry)
                return yaml_refuse(yaml, node, 0, "the catalogue has no code \"%.40s\"", code);
        *(const char **) ret = entry->code;
        return 0;
}

/* "…/bit77" or ".../bit77" is the end of a location; anything else is a whole one. */
static int read_place(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        ExpectedFinding *finding = userdata;
        const char *text, *wrong;
        Location at;
        size_t offset;
        int r;

        r = yaml_scalar(yaml, node, "a location, or the end of one after \"" ELLIPSIS "\"", &text);
        if (r < 0)
                return r;
        if (strncmp(text, ELLIPSIS, strlen(ELLIPSIS)) == 0 || strncmp(text, "...", 3) == 0) {
                finding->is_suffix = true;
                text += 3; /* either has three bytes */
                if (text[0] != '/' || text[1] == '\0')
                        return yaml_refuse(yaml, node, 3, "expected \"/\" and the last parts of a location");
        } else if (location_parse(text, &at, &wrong, &offset) < 0)
                return yaml_refuse(yaml, node, offset, "%s", wrong);

        free(finding->at);
        finding->at = strdup(text);
        return finding->at ? 0 : -ENOMEM;
}

static const YamlField finding_fields[] = {
        YAML_CUSTOM("code", ExpectedFinding, code, read_code, .required = true),
        YAML_CUSTOM("at", ExpectedFinding, at, read_place, .required = true),
        {},
};

static int read_finding(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        Expectation *expectation = userdata;
        ExpectedFinding *findings;

        findings = reallocarray(expectation->findings, index + 1, sizeof(*findings));
        if (!findings)
                return -ENOMEM;
        expectation->findings = findings;
        findings[index] = (ExpectedFinding) {};
        expectation->n_findings = index + 1;
        return yaml_read(yaml, item, finding_fields, &findings[index], &findings[index]);
}

static int read_findings(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        return yaml_items(yaml, node, EXPECTED_FINDINGS_MAX, "a list of findings", read_finding, userdata);
}

typedef struct ExpectationText {
        int result;
        bool more;
        int findings;
} ExpectationText;

static const YamlField expectation_fields[] = {
        YAML_WORD("verdict", ExpectationText, result, expectation_words, .required = true),
        YAML_BOOLEAN("more", ExpectationText, more),
        YAML_CUSTOM("findings", ExpectationText, findings, read_findings),
        {},
};

static int read_pair(Yaml *yaml, yaml_node_t *key, yaml_node_t *value, void *userdata) {
        Scenario *scenario = userdata;
        Expectation *all, *expectation;
        ExpectationText text = {};
        Location at;
        int r;

        if (scenario->n_expectations >= SCENARIO_EXPECT_MAX)
                return yaml_refuse(yaml, key, 0, "more than %u expectations", SCENARIO_EXPECT_MAX);
        r = scenario_read_unit(yaml, key, scenario->hall, &at);
        if (r < 0)
                return r;
        all = reallocarray(scenario->expectations, scenario->n_expectations + 1, sizeof(*all));
        if (!all)
                return -ENOMEM;
        scenario->expectations = all;
        expectation = &all[scenario->n_expectations++];
        *expectation = (Expectation) { .at = at };
        r = yaml_read(yaml, value, expectation_fields, &text, expectation);
        expectation->result = (Result) text.result;
        expectation->more = text.more;
        return r;
}

int expectations_read(Yaml *yaml, yaml_node_t *node, Scenario *scenario) {
        scenario->has_expectations = true;
        return yaml_pairs(yaml, node, "what each chip should come to", read_pair, scenario);
}

void expectations_free(Expectation *expectations, size_t n) {
        for (size_t i = 0; i < n; i++) {
                for (size_t k = 0; k < expectations[i].n_findings; k++)
                        free(expectations[i].findings[k].at);
                free(expectations[i].findings);
        }
        free(expectations);
}
