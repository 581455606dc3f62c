/* SPDX-License-Identifier: Apache-2.0 */

/* Station: what the place where records are made says of itself, its clock included. See statement.h. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

#include "daemon/record/keys/key.h"
#include "daemon/record/statement/statement.h"

#define DOCUMENTATION_PEN 32473 /* RFC 5612 */

static void read_boot_id(char id[static 37]) {
        _cleanup_close_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

        if (fd < 0 || read(fd, id, 36) != 36)
                id[0] = '\0';
        id[36] = '\0';
}

/* Linux says in hctosys whether the clock was set from that of the board. */
static const char *clock_start(void) {
        _cleanup_close_ int fd = open("/sys/class/rtc/rtc0/hctosys", O_RDONLY | O_CLOEXEC);
        char word = '0';

        return fd >= 0 && read(fd, &word, 1) == 1 && word == '1' ? "rtc" : "none";
}

int station_init(Station *station, const RecordLogOptions *options) {
        Printer *p = &station->producer;
        const PublicKey *key = key_public(options->key);
        char boot_id[37], *uri;

        *station = (Station) { .origin = strdup(options->origin) };
        if (!station->origin || asprintf(&uri, "pkg:generic/assayd@%s", options->version) < 0) {
                station_done(station);
                return -ENOMEM;
        }
        station->clock_source = options->clock_source ? options->clock_source : "ntp";
        station->clock_start = clock_start();
        station->issuer = (IdentityIssuer) { .pen = options->pen ?: DOCUMENTATION_PEN,
                                            .origin = station->origin };
        if (digest_sha256(key->spki, key->n_spki, station->key_digest) < 0) {
                station_done(station);
                free(uri);
                return -EIO;
        }
        read_boot_id(boot_id);

        printer_open(p, '{');
        printer_member_always(p, "id", options->producer);
        printer_key(p, "scanner");
        printer_open(p, '{');
        printer_member(p, "name", "assayd");
        printer_member(p, "uri", uri);
        if (options->scanner_sha256) {
                printer_key(p, "digest");
                printer_open(p, '{');
                printer_member(p, "sha256", options->scanner_sha256);
                printer_close(p, '}');
        }
        printer_close(p, '}');
        printer_member(p, "bootId", boot_id);
        printer_close(p, '}');
        free(uri);
        return p->error;
}

void station_done(Station *station) {
        free(station->origin);
        printer_done(&station->producer);
        *station = (Station) {};
}

/* How good the station's clock is. Where the kernel does not tell (a sandbox), it is not vouched for. */
void print_clock(Printer *printer, const Station *station) {
        struct timex timex = {};
        struct timespec now;
        bool synchronized;
        int r;

        r = adjtimex(&timex);
        synchronized = r >= 0 && !(timex.status & STA_UNSYNC);
        printer_key(printer, "clock");
        printer_open(printer, '{');
        printer_member(printer, "source", synchronized ? station->clock_source : r < 0 ? "none" : station->clock_start);
        printer_key(printer, "synchronized");
        printer_bool(printer, synchronized);
        if (synchronized)
                printer_member_number(printer, "maxErrorSeconds", (double) timex.maxerror / 1e6);
        if (clock_gettime(CLOCK_BOOTTIME, &now) == 0)
                printer_member_digits(printer, "monotonicNs", (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec);
        printer_close(printer, '}');
}
