#pragma once

// Exit codes; --help and the manual page list them. All but the first three follow the
// shell's rule 128 + signal.
enum exit_code {
    EXIT_OK = 0,
    EXIT_FAILED = 1, // the run or the call failed; a message stands on stderr
    EXIT_USAGE = 2,  // wrong options or values
    EXIT_HANGUP = 129,
    EXIT_INTERRUPTED = 130,
    EXIT_STDOUT_CLOSED = 141, // the reader of our output went away
    EXIT_TERMINATED = 143,
};
