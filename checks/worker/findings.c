/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/worker/findings.h"

#include <string.h>

#include "checks/vocabulary/catalogue.h"
#include "checks/vocabulary/measurements.h"

static const char *copy(const char *text, bool *ok) {
        const char *copied = text ? strdup(text) : NULL;

        *ok = *ok && (copied || !text);
        return copied;
}

static void done(FindingSeen *seen) {
        free((char *) seen->finding.code);
        free((char *) seen->finding.message);
        free((char *) seen->finding.evidence.address);
        free((char *) seen->finding.evidence.expected);
        free((char *) seen->finding.evidence.actual);
        free((char *) seen->finding.evidence.far_end);
        free((char *) seen->finding.evidence.replaceable);
}

static FindingSeen *find(const Findings *findings, const Finding *finding) {
        for (size_t i = 0; i < findings->n; i++)
                if (strcmp(findings->items[i].finding.code, finding->code) == 0 &&
                    location_equal(&findings->items[i].finding.where, &finding->where))
                        return &findings->items[i];

        return NULL;
}

static int append(Findings *findings, const Finding *finding, unsigned run) {
        FindingSeen seen = { .finding = *finding, .last_run = run, .n_runs = 1 };
        Evidence *evidence = &seen.finding.evidence;
        FindingSeen *grown;
        bool ok = true;

        if (findings->n >= STREAM_FINDINGS_MAX)
                return -ENOBUFS;

        grown = reallocarray(findings->items, findings->n + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;

        seen.finding.code = copy(finding->code, &ok);
        seen.finding.message = copy(finding->message, &ok);
        evidence->address = copy(evidence->address, &ok);
        evidence->expected = copy(evidence->expected, &ok);
        evidence->actual = copy(evidence->actual, &ok);
        evidence->far_end = copy(evidence->far_end, &ok);
        evidence->replaceable = copy(evidence->replaceable, &ok);

        findings->items = grown;
        findings->items[findings->n] = seen;
        if (!ok) {
                done(&seen);
                return -ENOMEM;
        }

        findings->n++;
        return 0;
}

int findings_add(Findings *findings, const Finding *finding, unsigned run) {
        FindingSeen *seen = find(findings, finding);

        if (!seen)
                return append(findings, finding, run);

        if (seen->last_run != run) {
                seen->finding.reproduced += finding->reproduced;
                seen->finding.runs += finding->runs;
                seen->n_runs++;
        }
        seen->last_run = run;
        return 0;
}

const Finding *findings_find(const Findings *findings, const char *code) {
        for (size_t i = 0; i < findings->n; i++)
                if (strcmp(findings->items[i].finding.code, code) == 0)
                        return &findings->items[i].finding;

        return NULL;
}

void findings_remove(Findings *findings, const char *code) {
        size_t kept = 0;

        for (size_t i = 0; i < findings->n; i++)
                if (strcmp(findings->items[i].finding.code, code) == 0)
                        done(&findings->items[i]);
                else
                        findings->items[kept++] = findings->items[i];
        findings->n = kept;
}

void findings_keep(Findings *findings, bool (*is_kept)(const Finding *finding)) {
        size_t kept = 0;

        for (size_t i = 0; i < findings->n; i++)
                if (is_kept(&findings->items[i].finding))
                        findings->items[kept++] = findings->items[i];
                else
                        done(&findings->items[i]);
        findings->n = kept;
}

static bool is_at_either(const Finding *finding, const Location *one, const Location *other) {
        return location_contains(one, &finding->where) || location_contains(other, &finding->where);
}

static bool is_explained(const Findings *findings, const Finding *of_two) {
        const CatalogueEntry *entry = catalogue_find(of_two->code);
        Location far;

        if (!entry || !entry->names_two || !of_two->evidence.far_end || location_parse(of_two->evidence.far_end, &far, NULL, NULL) < 0)
                return false;
        for (size_t i = 0; i < findings->n; i++)
                if (findings->items[i].finding.severity == SEVERITY_FAIL && is_at_either(&findings->items[i].finding, &of_two->where, &far))
                        return true;

        return false;
}

void findings_settle(Findings *findings) {
        size_t kept = 0;

        /* What explains is no such finding itself, so it is still there when the next one is looked at. */
        for (size_t i = 0; i < findings->n; i++)
                if (is_explained(findings, &findings->items[i].finding))
                        done(&findings->items[i]);
                else
                        findings->items[kept++] = findings->items[i];
        findings->n = kept;
}

Verdict findings_verdict(const Findings *findings) {
        Verdict verdict = VERDICT_PASSED;

        for (size_t i = 0; i < findings->n; i++)
                verdict_raise(&verdict, findings->items[i].finding.severity);
        return verdict;
}

void finding_write(const Finding *finding, const char *step_id, Outlet *outlet) {
        const Decided *decided = &finding->evidence.decided;
        const MeasurementRow *row = decided->measurement ? measurement_named(decided->measurement) : NULL;
        Finding told = *finding;

        told.evidence.decided = (Decided) {};
        if (row)
                outlet_write(outlet, stream_measurement(step_id, &(Measurement) { .name = row->name, .value = decided->value, .unit = row->unit,
                                                                                  .limit_type = row->limit_type, .limit = decided->limit,
                                                                                  .where = finding->where }));
        outlet_write(outlet, stream_finding(step_id, &told));
}

static bool is_decided_before(const Findings *findings, size_t index) {
        const char *name = findings->items[index].finding.evidence.decided.measurement;

        for (size_t i = 0; name && i < index; i++)
                if (findings->items[i].finding.evidence.decided.measurement == name)
                        return true;
        return false;
}

void findings_write(const Findings *findings, const char *step_id, unsigned runs, bool once, Outlet *outlet) {
        for (size_t i = 0; i < findings->n; i++) {
                Finding finding = findings->items[i].finding;

                finding.runs += runs - findings->items[i].n_runs;
                if (once && is_decided_before(findings, i))
                        finding.evidence.decided = (Decided) {};
                finding_write(&finding, step_id, outlet);
        }
}

void findings_clear(Findings *findings) {
        for (size_t i = 0; i < findings->n; i++)
                done(&findings->items[i]);
        free(findings->items);
        *findings = (Findings) {};
}
