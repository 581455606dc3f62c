/* SPDX-License-Identifier: Apache-2.0 */

/* Journal: see journal.h. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-journal.h>

#include "checks/text/cleanup.h"
#include "daemon/journal.h"
#include "daemon/names.h"

static const char *const levels[] = {
        [LOG_EMERG] = "emerg",     [LOG_ALERT] = "alert",   [LOG_CRIT] = "crit", [LOG_ERR] = "err",
        [LOG_WARNING] = "warning", [LOG_NOTICE] = "notice", [LOG_INFO] = "info", [LOG_DEBUG] = "debug",
};

static int current_level = LOG_INFO;

int journal_level(void) {
        return current_level;
}

void journal_set_level(int level) {
        current_level = level;
}

const char *journal_level_to_string(int level) {
        return level >= 0 && (size_t) level < ELEMENTS(levels) ? levels[level] : NULL;
}

int journal_level_from_string(const char *word) {
        for (size_t i = 0; i < ELEMENTS(levels); i++)
                if (word && strcmp(word, levels[i]) == 0)
                        return (int) i;

        return -EINVAL;
}

__attribute__((format(printf, 2, 0))) static void print(int level, const char *format, va_list arguments) {
        char line[1024];

        if (level > current_level)
                return;

        (void) vsnprintf(line, sizeof(line), format, arguments);

        /* systemd sets this where stderr is the journal: then a line starts with its priority. */
        if (getenv("JOURNAL_STREAM"))
                fprintf(stderr, "<%d>%s\n", level, line);
        else
                fprintf(stderr, "assayd: %s\n", line);
}

void journal_print(int level, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        print(level, format, arguments);
        va_end(arguments);
}

int journal_errno(int level, int error, const char *format, ...) {
        va_list arguments;

        errno = -error;
        va_start(arguments, format);
        print(level, format, arguments);
        va_end(arguments);
        return error;
}

void journal_alarm(const char *log, const char *format, ...) {
        va_list arguments;
        char line[1024];
        int r;

        va_start(arguments, format);
        (void) vsnprintf(line, sizeof(line), format, arguments);
        va_end(arguments);
        r = sd_journal_send("MESSAGE=%s", line, "PRIORITY=%i", LOG_ALERT, ASSAY_JOURNAL_ALARM "=%s", log, "MESSAGE_ID=" ASSAY_MESSAGE_ALARM,
                            NULL);
        /* Where stderr is the journal, too, the entry with its fields is enough. */
        if (r < 0 || !getenv("JOURNAL_STREAM"))
                journal_print(LOG_ALERT, "%s", line);
}
