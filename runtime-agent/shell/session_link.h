/* What the agent and the builtin that it loads into a kept bash say to each other, over a connection that exists only
   while no command runs (T2). Both sides are built together; `version` tells a mistake, not a history. In C and C++. */
#ifndef MAO_SESSION_LINK_H
#define MAO_SESSION_LINK_H

#include <stdint.h>

enum {
    mao_session_version = 1,
    mao_session_workdir_bytes = 4096,
    /* A real-time signal that nobody uses: bash itself stops what it does and waits for the next command. */
    mao_session_interrupt_signal = 61
};

/* The shell's greeting, and its answer to a command: it is ready. Ends behind the workdir's last byte. */
struct mao_session_report {
    uint32_t version;
    int32_t exit_code;
    char workdir[mao_session_workdir_bytes]; /* not terminated; empty: the shell knows none */
};

/* With the descriptors of the command's text, of its stdin, stdout and stderr, and of the variables that it alone is to
   have (NAME=value, each with a zero behind it); the last is left out where there are none. Closing the connection instead ends the shell, as `exit` would. */
struct mao_session_order {
    uint32_t version;
    uint32_t command_bytes;
    uint32_t variables_bytes;
    char workdir[mao_session_workdir_bytes]; /* where to run it, absolute; empty: where the shell is */
};

enum { mao_session_descriptors = 5 };

#endif
