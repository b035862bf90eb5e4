#pragma once

#include "base/error.h"

/**
 * Finds a helper program of the installation by its name ("pi-guard"), relative to the
 * program or shared object that holds this code: ../libexec/pi/NAME (bin/pi),
 * ../../libexec/pi/NAME (lib/pi/module), ../tools/NAME (build tree). Caller frees.
 * PI_NOT_FOUND names where it was looked for.
 */
enum pi_status program_find(char **out, const char *name, struct pi_error *err) NODISCARD;

/**
 * The folder of the program or shared object that holds this code, links followed; caller
 * frees. NULL when it cannot be found.
 */
char *program_folder(void) NODISCARD;

/**
 * A random identifier that sorts by time: UUID version 7 with hyphens. out holds 37
 * bytes. Errors: PI_IO when the system has no random bytes.
 */
enum pi_status program_new_id(char out[37], struct pi_error *err) NODISCARD;
