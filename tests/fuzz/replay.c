/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Replay
 *
 * Stands in for libFuzzer's main: runs a target once over every file of the folders it is given. So what fuzzing once
 * found stays found, in every build.
 */

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "checks/text/cleanup.h"

#define FILE_BYTES_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *folder, const char *name) {
        _cleanup_free_ char *path = NULL;
        _cleanup_free_ uint8_t *bytes = NULL;
        FILE *file;
        size_t n;

        if (asprintf(&path, "%s/%s", folder, name) < 0)
                return -ENOMEM;

        file = fopen(path, "re");
        if (!file)
                return -errno;

        bytes = malloc(FILE_BYTES_MAX);
        n = bytes ? fread(bytes, 1, FILE_BYTES_MAX, file) : 0;
        if (ferror(file) || !bytes || fclose(file) != 0)
                return -EIO;

        printf("%s\n", path);
        fflush(stdout);
        bytes = realloc(bytes, n > 0 ? n : 1); /* so that a sanitizer sees a read past the end */
        (void) LLVMFuzzerTestOneInput(bytes, n);
        return 0;
}

int main(int argc, char *argv[]) {
        unsigned n_files = 0;

        for (int i = 1; i < argc; i++) {
                struct dirent **entries;
                int n = scandir(argv[i], &entries, NULL, alphasort);

                if (n < 0)
                        return EXIT_FAILURE;

                for (int k = 0; k < n; k++) {
                        if (entries[k]->d_name[0] != '.') {
                                if (replay_file(argv[i], entries[k]->d_name) < 0)
                                        return EXIT_FAILURE;
                                n_files++;
                        }
                        free(entries[k]);
                }
                free(entries);
        }

        printf("%u files\n", n_files);
        return n_files > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
