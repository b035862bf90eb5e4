#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "llm/replay_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct replay_file f = {0};
    struct pi_error err = {0};
    if (replay_file_parse(&f, sv_make((const char *)data, size), &err) == PI_OK) {
        size_t len = replay_file_len(&f);
        if (replay_file_turn(&f, len) || (len > 0 && !replay_file_turn(&f, len - 1))) {
            abort();
        }
    } else if (f.root || err.message[0] == '\0') {
        abort();
    }
    replay_file_finish(&f);
    return 0;
}
