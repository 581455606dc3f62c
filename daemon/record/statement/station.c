/* SPDX-License-Identifier: Apache-2.0 */

/* Station: what the place where records are made says of itself, its clock included. See statement.h. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>
#include <sys/utsname.h>
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

/* Of the station's own machine; a sandbox may show no BIOS, then it is not known. */
static void print_host_software(Printer *printer) {
        _cleanup_close_ int fd = open("/sys/class/dmi/id/bios_version", O_RDONLY | O_CLOEXEC);
        char bios[PARTICULARS_TEXT_MAX] = "", text[PARTICULARS_TEXT_MAX];
        struct utsname names;
        ssize_t n;

        if (uname(&names) == 0 && particulars_text_is_valid(names.release))
                printer_member(printer, "kernel", names.release);
        n = fd >= 0 ? read(fd, bios, sizeof(bios) - 1) : 0;
        if (n > 0 && bios[n - 1] == '\n')
                bios[n - 1] = '\0';
        particulars_take_text(text, bios);
        printer_member(printer, "bios", text);
}

/* Linux says in hctosys whether the clock was set from that of the board. */
static const char *clock_start(void) {
        _cleanup_close_ int fd = open("/sys/class/rtc/rtc0/hctosys", O_RDONLY | O_CLOEXEC);
        char word = '0';

        return fd >= 0 && read(fd, &word, 1) == 1 && word == '1' ? "rtc" : "none";
}

static void print_producer(Printer *p, const RecordLogOptions *options, const char *uri, const char *boot_id) {
        printer_open(p, '{');
        printer_member_always(p, "id", options->producer);
        printer_member_open(p, "scanner", '{');
        printer_member(p, "name", "assayd");
        printer_member(p, "uri", uri);
        if (options->scanner_sha256)
                print_sha256(p, "digest", options->scanner_sha256);
        printer_member(p, "commit", options->scanner_commit);
        printer_close(p, '}');
        printer_member(p, "bootId", boot_id);
        print_host_software(p);
        printer_close(p, '}');
}

int station_init(Station *station, const RecordLogOptions *options) {
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

        print_producer(&station->whole_producer, options, uri, boot_id);
        printer_open(&station->producer, '{');
        printer_member_always(&station->producer, "id", options->producer);
        printer_close(&station->producer, '}');
        free(uri);
        return station->producer.error < 0 ? station->producer.error : station->whole_producer.error;
}

void station_done(Station *station) {
        free(station->origin);
        printer_done(&station->producer);
        printer_done(&station->whole_producer);
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
        printer_member_open(printer, "clock", '{');
        printer_member(printer, "source", synchronized ? station->clock_source : r < 0 ? "none" : station->clock_start);
        printer_member_bool(printer, "synchronized", synchronized);
        if (synchronized)
                printer_member_number(printer, "maxErrorSeconds", (double) timex.maxerror / 1e6);
        if (clock_gettime(CLOCK_BOOTTIME, &now) == 0)
                printer_member_digits(printer, "monotonicNs", (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec);
        printer_close(printer, '}');
}
