/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The first byte says whose stream it is and how it is cut into pieces. What comes out is bounded and named, no step
 * passes with a finding that fails, and a broken stream stays broken.
 */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checks/stream/stream.h"
#include "checks/text/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

typedef struct Heard {
        char failed[LOCATION_STRING_MAX + 64]; /* the step that had the last failing finding */
        unsigned n_ends;
} Heard;

static bool is_step(const Heard *heard, const Event *event) {
        size_t n = strlen(event->unit);

        return strncmp(heard->failed, event->unit, n) == 0 && heard->failed[n] == ':' &&
               strcmp(heard->failed + n + 1, event->step) == 0;
}

static void judge_where(const Location *where) {
        char text[LOCATION_STRING_MAX];
        Location again;

        HOLDS(location_parse(location_format(where, text), &again, NULL, NULL) == 0);
        HOLDS(location_equal(where, &again));
}

static void judge_finding(Heard *heard, const Event *event) {
        const Finding *finding = &event->finding;

        judge_where(&finding->where);
        HOLDS(finding->code[0] != '\0' && severity_to_string(finding->severity));
        HOLDS(strlen(finding->message) < STREAM_MESSAGE_MAX && finding->reproduced <= finding->runs);
        HOLDS(!finding->evidence.has_count || isfinite(finding->evidence.count));
        if (finding->severity == SEVERITY_FAIL) {
                strcpy(heard->failed, event->unit);
                strcat(heard->failed, ":");
                strcat(heard->failed, event->step);
        }
}

static void judge_particulars(const Particulars *told) {
        HOLDS(told->n_assemblies <= ASSEMBLIES_MAX && told->n_softwares <= SOFTWARES_MAX && told->n_readings <= READINGS_MAX);
        judge_where(&told->where);
        for (size_t i = 0; i < told->n_assemblies; i++) {
                judge_where(&told->assemblies[i].where);
                HOLDS(location_contains(&told->where, &told->assemblies[i].where) && particulars_word_is_valid(told->assemblies[i].word));
                HOLDS(told->assemblies[i].serial[0] == '\0' || particulars_text_is_valid(told->assemblies[i].serial));
        }
        for (size_t i = 0; i < told->n_softwares; i++)
                HOLDS(particulars_word_is_valid(told->softwares[i].word) && particulars_text_is_valid(told->softwares[i].version));
        for (size_t i = 0; i < told->n_readings; i++)
                HOLDS(particulars_word_is_valid(told->readings[i].word) && isfinite(told->readings[i].value));
}

static int on_event(const Event *event, void *userdata) {
        Heard *heard = userdata;

        HOLDS(event->unit && event->step && (event->unit[0] == '\0') == (event->step[0] == '\0'));
        HOLDS(heard->n_ends == 0);
        switch (event->type) {
        case EVENT_FINDING:
                judge_finding(heard, event);
                break;
        case EVENT_MEASUREMENT:
                judge_where(&event->measurement.where);
                HOLDS(isfinite(event->measurement.value) && isfinite(event->measurement.limit));
                HOLDS(limit_type_to_string(event->measurement.limit_type) && event->measurement.name[0] != '\0');
                break;
        case EVENT_STEP_END:
                HOLDS(reason_fits(event->end.reason, event->end.verdict));
                HOLDS(!is_step(heard, event) ||
                      (event->end.verdict != VERDICT_PASSED && event->end.verdict != VERDICT_WARNED));
                break;
        case EVENT_RUN_END:
                heard->n_ends++;
                break;
        case EVENT_HARDWARE:
                judge_where(&event->hardware.where);
                break;
        case EVENT_PART_DONE:
                judge_where(&event->part);
                break;
        case EVENT_REGIONS:
                HOLDS(!regions_wrong(event->regions));
                break;
        case EVENT_PARTICULARS:
                judge_particulars(event->particulars);
                break;
        case EVENT_ERROR:
        case EVENT_LOG:
                HOLDS(strlen(event->message) < STREAM_MESSAGE_MAX);
                break;
        case EVENT_RUN_START:
        case EVENT_STEP_START:
        case EVENT_PROGRESS:
                break;
        case _EVENT_TYPE_MAX:
                abort();
        }

        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(stream_reader_freep) StreamReader *reader = NULL;
        Heard heard = {};
        size_t piece;
        int r = 0;

        if (size == 0)
                return 0;

        piece = data[0] < 0x80 ? SIZE_MAX : (size_t) (data[0] & 0x3f) + 1;
        if (stream_reader_new((data[0] & 1) != 0, (data[0] & 2) != 0 ? 17 : 0, on_event, &heard, &reader) < 0)
                return 0;

        for (size_t at = 1; at < size && r >= 0;) {
                size_t n = size - at < piece ? size - at : piece;

                r = stream_reader_feed(reader, data + at, n);
                at += n;
        }

        if (r < 0) {
                HOLDS(r == -EPROTO && stream_reader_error(reader)[0] != '\0');
                HOLDS(stream_reader_feed(reader, "{}\n", 3) == -EPROTO);
        }

        r = stream_reader_end(reader);
        HOLDS(r == 0 || (r == -EPROTO && stream_reader_error(reader)[0] != '\0'));
        return 0;
}
