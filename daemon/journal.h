/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Journal
 *
 * What the daemon tells its administrator: lines on stderr, with the priority prefix where that is the
 * journal, and one structured entry per record. Each error is told once, by the function that knows what was
 * attempted.
 */

#include <stdarg.h>
#include <stdint.h>
#include <syslog.h>

#include "daemon/record/record.h"

/* One of the LOG_… of syslog; what is less urgent is not told. */
int journal_level(void);
void journal_set_level(int level);

/* "emerg" … "debug"; NULL and -EINVAL for what is none. */
const char *journal_level_to_string(int level);
int journal_level_from_string(const char *word);

void journal_print(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sets errno from the negative ERROR, so that %m works, and returns ERROR. */
int journal_errno(int level, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define log_error(...)          journal_print(LOG_ERR, __VA_ARGS__)
#define log_warning(...)        journal_print(LOG_WARNING, __VA_ARGS__)
#define log_info(...)           journal_print(LOG_INFO, __VA_ARGS__)
#define log_debug(...)          journal_print(LOG_DEBUG, __VA_ARGS__)
#define log_error_errno(r, ...) journal_errno(LOG_ERR, r, __VA_ARGS__)
#define log_warning_errno(r, ...) journal_errno(LOG_WARNING, r, __VA_ARGS__)

/* Somebody must act at once: a line, and a structured entry with ASSAY_ALARM=LOG where there is a journal. */
void journal_alarm(const char *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * A record that was committed, in fields: MESSAGE_ID, ASSAY_SCAN, ASSAY_RECORD (its index), ASSAY_RECORD_ID, ASSAY_TYPE, ASSAY_RESULT, and
 * where it has them ASSAY_TARGET, ASSAY_PLAN, ASSAY_RUN. Of a verdict that was read back (TOLD, else NULL) also ASSAY_SUBJECT and
 * ASSAY_SERIAL, ASSAY_REASON, ASSAY_FINDINGS (how many), and for each ASSAY_FINDING ("CODE LOCATION") and ASSAY_CODE. Nothing where there is
 * no journal.
 */
void journal_record(uint64_t scan, const RecordEntry *entry, const RecordTold *told);
