// link: pi-nvim-rpc
// The flow of batches, seen from the other end of the channel.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <msgpack.h>

#include "pack.h"
#include "server.h"

// The server and what stands for Neovim.
struct fixture {
    struct server server;
    int neovim;
    msgpack_unpacker received;
    msgpack_unpacked message;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    int ends[2];
    *state = f;
    if (!f || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends)) {
        return 1;
    }
    f->neovim = ends[0];
    msgpack_unpacked_init(&f->message);
    return !msgpack_unpacker_init(&f->received, 4096) ||
           server_init(&f->server, ends[1], dup(ends[1]), NULL) != PI_OK;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    server_finish(&f->server);
    msgpack_unpacked_destroy(&f->message);
    msgpack_unpacker_destroy(&f->received);
    close(f->neovim);
    free(f);
    return 0;
}

// Does what the poll loop does, without sleeping.
static enum pi_status step(struct fixture *f)
{
    enum pi_status status =
        channel_read(&f->server.channel, server_message, &f->server, NULL);
    server_step(&f->server);
    return status == PI_OK ? channel_write(&f->server.channel, NULL) : status;
}

// The next message to Neovim, or NULL when there is none.
static const msgpack_object *next(struct fixture *f)
{
    assert_int_equal(step(f), PI_OK);
    assert_true(msgpack_unpacker_reserve_buffer(&f->received, 65536));
    ssize_t n = read(f->neovim, msgpack_unpacker_buffer(&f->received), 65536);
    if (n > 0) {
        msgpack_unpacker_buffer_consumed(&f->received, (size_t)n);
    }
    return msgpack_unpacker_next(&f->received, &f->message) == MSGPACK_UNPACK_SUCCESS
               ? &f->message.data
               : NULL;
}

static void send_bytes(struct fixture *f, const struct buf *message)
{
    assert_true(buf_ok(message));
    assert_int_equal(write(f->neovim, message->data, message->len), message->len);
}

// A notification without parameters of a method that does not exist: it leads to an item.
static void make_mail(struct fixture *f)
{
    static const char bytes[] = "\x93\x02\xa1x\x90";
    assert_int_equal(write(f->neovim, bytes, 5), 5);
}

// Answers a request; blocking is what nvim_get_mode says.
static void answer(struct fixture *f, uint64_t id, bool blocking)
{
    struct buf message = {0};
    struct pack p;
    pack_init(&p, &message, 0);
    pack_array(&p, 4);
    pack_number(&p, 1);
    pack_number(&p, id);
    pack_nil(&p);
    pack_map(&p, 1);
    pack_text(&p, sv_of("blocking"));
    buf_addc(&message, blocking ? '\xc3' : '\xc2');
    send_bytes(f, &message);
    buf_finish(&message);
}

// Expects a request of this method and returns its id.
static uint64_t expect(struct fixture *f, const char *method)
{
    const msgpack_object *m = next(f);
    assert_non_null(m);
    assert_int_equal(m->via.array.size, 4);
    assert_int_equal(m->via.array.ptr[0].via.u64, 0);
    const msgpack_object_str *name = &m->via.array.ptr[2].via.str;
    assert_true(sv_eqs(sv_make(name->ptr, name->size), method));
    return m->via.array.ptr[1].via.u64;
}

static void expect_nothing(struct fixture *f)
{
    assert_null(next(f));
}

// Nothing happens before its time, however slow this machine is.
static void must_wait(struct fixture *f)
{
    assert_true(f->server.next_ms > 0);
    f->server.next_ms += 100000;
    expect_nothing(f);
    int ms = server_timeout_ms(&f->server);
    assert_true(ms > 80000 && ms <= 100100);
    f->server.next_ms = 0;
    assert_int_equal(server_timeout_ms(&f->server), 0);
}

static void nothing_is_said_without_need(void **state)
{
    struct fixture *f = *state;
    expect_nothing(f);
    assert_int_equal(server_timeout_ms(&f->server), -1);
}

static void one_batch_at_a_time(void **state)
{
    struct fixture *f = *state;
    make_mail(f);
    uint64_t id = expect(f, "nvim_get_mode");
    expect_nothing(f);
    make_mail(f);
    expect_nothing(f);
    assert_int_equal(server_timeout_ms(&f->server), -1);
    answer(f, id, false);
    id = expect(f, "nvim_exec_lua");
    // Both items are in it: [code, [connection, batch]].
    const msgpack_object *params = &f->message.data.via.array.ptr[3];
    assert_int_equal(params->via.array.ptr[1].via.array.ptr[1].via.array.size, 2);
    make_mail(f);
    f->server.next_ms = 0;
    expect_nothing(f);
    answer(f, id, false);
    id = expect(f, "nvim_get_mode");
    answer(f, id, false);
    int64_t before = f->server.next_ms;
    id = expect(f, "nvim_exec_lua");
    // The next one keeps its distance.
    assert_true(f->server.next_ms > before);
    answer(f, id, false);
    make_mail(f);
    must_wait(f);
    expect(f, "nvim_get_mode");
}

static void a_call_with_a_seq_is_answered_by_an_item(void **state)
{
    struct fixture *f = *state;
    static const char bytes[] = "\x93\x02\xa1x\x91\x82\xa3seq\x09\xaa"
                                "connection\x03";
    assert_int_equal(write(f->neovim, bytes, sizeof bytes - 1), sizeof bytes - 1);
    answer(f, expect(f, "nvim_get_mode"), false);
    expect(f, "nvim_exec_lua");
    const msgpack_object *arguments = &f->message.data.via.array.ptr[3].via.array.ptr[1];
    assert_int_equal(arguments->via.array.ptr[0].via.u64, 3);
    const msgpack_object *item = &arguments->via.array.ptr[1].via.array.ptr[0];
    assert_int_equal(item->via.array.size, 4);
    const msgpack_object_str *kind = &item->via.array.ptr[0].via.str;
    assert_true(sv_eqs(sv_make(kind->ptr, kind->size), "answer"));
    assert_int_equal(item->via.array.ptr[1].via.u64, 9);
    assert_true(item->via.array.ptr[2].via.str.size > 0);
    assert_int_equal(item->via.array.ptr[3].type, MSGPACK_OBJECT_NIL);
}

static void a_blocked_neovim_is_asked_again_later(void **state)
{
    struct fixture *f = *state;
    make_mail(f);
    answer(f, expect(f, "nvim_get_mode"), true);
    expect_nothing(f);
    must_wait(f);
    answer(f, expect(f, "nvim_get_mode"), false);
    expect(f, "nvim_exec_lua");
}

static void wrong_answers_are_ignored(void **state)
{
    struct fixture *f = *state;
    answer(f, 77, false);
    expect_nothing(f);
    make_mail(f);
    uint64_t id = expect(f, "nvim_get_mode");
    answer(f, id + 1, false);
    expect_nothing(f);
    answer(f, id, false);
    expect(f, "nvim_exec_lua");
}

// Messages may come in pieces of any size.
static void byte_by_byte(void **state)
{
    struct fixture *f = *state;
    static const char bytes[] = "\x94\x00\x07\xa1x\x90";
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(write(f->neovim, bytes + i, 1), 1);
        expect_nothing(f);
    }
    assert_int_equal(write(f->neovim, bytes + 5, 1), 1);
    const msgpack_object *m = next(f);
    assert_non_null(m);
    assert_int_equal(m->via.array.ptr[0].via.u64, 1);
    assert_int_equal(m->via.array.ptr[1].via.u64, 7);
    assert_int_equal(m->via.array.ptr[2].type, MSGPACK_OBJECT_STR);
    assert_int_equal(m->via.array.ptr[3].type, MSGPACK_OBJECT_NIL);
}

static void the_end_is_told(void **state)
{
    struct fixture *f = *state;
    shutdown(f->neovim, SHUT_RDWR);
    assert_int_equal(step(f), PI_CLOSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_call_with_a_seq_is_answered_by_an_item, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nothing_is_said_without_need, setup, teardown),
        cmocka_unit_test_setup_teardown(one_batch_at_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(a_blocked_neovim_is_asked_again_later, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(wrong_answers_are_ignored, setup, teardown),
        cmocka_unit_test_setup_teardown(byte_by_byte, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_is_told, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
