// The input is a session's file. Whatever is in it: it is refused and left as it is, or
// it goes on, nothing in it is changed, and what was added is found again.

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/session.h"

static void must(int ok)
{
    if (!ok) {
        abort();
    }
}

static const char *file_path(void)
{
    static char path[64];
    if (!*path) {
        snprintf(path, sizeof path, "/dev/shm/pi-fuzz-session-%ld", (long)getpid());
        if (access("/dev/shm", W_OK) != 0) {
            snprintf(path, sizeof path, "/tmp/pi-fuzz-session-%ld", (long)getpid());
        }
    }
    return path;
}

static void put(const uint8_t *data, size_t size)
{
    int fd = open(file_path(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

// The file begins with these bytes; exactly: and has no more.
static void expect_bytes(const uint8_t *data, size_t size, int exactly)
{
    char *bytes = malloc(size + 1);
    int fd = open(file_path(), O_RDONLY | O_CLOEXEC);
    must(bytes && fd >= 0);
    ssize_t got = read(fd, bytes, size + 1);
    must(got >= (ssize_t)size && memcmp(bytes, data, size) == 0);
    must(!exactly || got == (ssize_t)size);
    close(fd);
    free(bytes);
}

static enum pi_status open_file(struct session **s)
{
    struct buf problems = {0};
    struct journal_owner owner;
    struct pi_error err = {0};
    enum pi_status status = session_open(s, file_path(), &problems, &owner, &err);
    must(status == PI_OK || err.message[0]);
    buf_finish(&problems);
    return status;
}

// The number of messages; the text of the last one goes to *last.
static size_t count(struct session *s, struct buf *last)
{
    struct session_messages all = {0};
    struct buf problems = {0};
    must(session_messages(s, &all, &problems, NULL) == PI_OK);
    for (size_t i = 0; i < all.len; i++) {
        if (i + 1 == all.len) {
            content_text(&all.items[i]->content, last);
        }
        message_destroy(all.items[i]);
    }
    free(all.items);
    buf_finish(&problems);
    return all.len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct session *s = NULL;
    struct buf last = {0};
    put(data, size);
    if (open_file(&s) != PI_OK) {
        must(s == NULL);
        expect_bytes(data, size, 1);
        unlink(file_path());
        return 0;
    }
    size_t before = count(s, &last);
    expect_bytes(data, size, 1);
    struct message *m = message_create(ROLE_USER);
    must(m && content_add_text(&m->content, sv_of("added")));
    must(session_add_message(s, m, NULL) == PI_OK);
    must(session_add_name(s, "name", NULL) == PI_OK);
    message_destroy(m);
    session_close(s);
    expect_bytes(data, size, 0);
    must(open_file(&s) == PI_OK);
    buf_clear(&last);
    must(count(s, &last) == before + 1 && strcmp(buf_cstr(&last), "added") == 0);
    must(session_name(s) && strcmp(session_name(s), "name") == 0);
    session_close(s);
    buf_finish(&last);
    unlink(file_path());
    return 0;
}
