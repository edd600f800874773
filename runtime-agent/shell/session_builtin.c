/* The loop of a kept shell (T2): a builtin that the agent loads into bash, which then runs one command after another as
   `bash -c` runs its only one, and says out of band when each has ended.

   Inside bash rather than a script around it, because nothing that a script is made of is safe from the commands: they
   shadow every builtin, close every descriptor, set -n, trap DEBUG. Here they find no descriptor to close (the
   connection is made anew after each command) and no name to shadow.

   bash is built to load such builtins; its functions and variables that are used here have been the same since 4.4. What
   of the C library is needed is bash's own: this object links nothing. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "session_link.h"

/* Of bash: builtins.h, shell.h, variables.h, bashjmp.h, builtins/common.h. */
typedef struct word_desc {
    char* word;
    int flags;
} word_desc;
typedef struct word_list {
    struct word_list* next;
    word_desc* word;
} word_list;
struct builtin {
    const char* name;
    int (*function)(word_list*);
    int flags;
    const char* const* long_doc;
    const char* short_doc;
    char* handle;
};
typedef struct variable {
    char* name;
    char* value;
    char* exportstr;
    void* dynamic_value;
    void* assign_func;
    int attributes;
    int context;
} variable;

enum { builtin_enabled = 1 };
enum {
    att_exported = 1,
    att_readonly = 2,
    att_array = 4,
    att_assoc = 0x40,
    att_nameref = 0x800,
    att_invisible = 0x1000
};
/* Integer, and the three that change the case. */
enum { att_evaluated = 0x10 | 0x100 | 0x200 | 0x400 };
enum { seval_nonint = 1, seval_nohist = 4, seval_resetline = 0x10 };
enum { jump_discard = 2, jump_exitprog = 3, jump_errexit = 4 };
enum { of_script = 1 };
enum { ex_usage = 2 };

extern sigjmp_buf top_level;
extern volatile sig_atomic_t interrupt_state;
extern int wait_signal_received;
extern int parse_and_execute_level;
extern int last_command_exit_value;
extern int interactive;
extern int startup_state;
extern int read_but_dont_execute;
extern int indirection_level;
extern int array_needs_making;
extern char** export_env;
extern char* the_current_working_directory;
extern int parse_and_execute(char* text, const char* from, int flags);
extern void parse_and_execute_cleanup(int old_running_trap);
extern void run_unwind_protects(void);
extern void jump_to_top_level(int how) __attribute__((noreturn));
extern void* xmalloc(size_t bytes);
extern variable* find_variable_noref(const char* name);
extern void stupidly_hack_special_variables(char* name);
extern int unbind_variable_noref(const char* name);
extern variable* bind_variable(const char* name, char* value, int flags);
extern int unbind_variable(const char* name);
extern word_desc* make_word(const char* text);
extern word_list* make_word_list(word_desc* word, word_list* rest);
extern void dispose_words(word_list* words);
extern int cd_builtin(word_list* words);

static struct sockaddr_un agent;
static socklen_t agent_bytes;
static sigjmp_buf exit_of_bash;
static volatile sig_atomic_t was_interrupted;

/* The call is over for its caller: what bash still prints about it goes nowhere. */
static void silence(void)
{
    const int nothing = open("/dev/null", O_RDWR);
    for (int target = 0; nothing >= 0 && target < 3; ++target)
        if (nothing != target) dup2(nothing, target);
    if (nothing > 2) close(nothing);
}

static void on_interrupt(int signal)
{
    (void)signal;
    const int kept = errno;
    silence();
    was_interrupted = 1;
    interrupt_state = 1;
    wait_signal_received = SIGINT; /* `wait` looks at nothing else while it waits */
    errno = kept;
}

/* As bash ends when it comes to the end of its script: with its EXIT trap and the last command's exit code. */
static void leave(int how) __attribute__((noreturn));
static void leave(int how)
{
    interactive = 0;
    memcpy(top_level, exit_of_bash, sizeof top_level);
    jump_to_top_level(how);
}

static int connect_to_agent(void)
{
    const int link = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (link < 0) return -1;
    while (connect(link, (struct sockaddr*)&agent, agent_bytes) != 0)
        if (errno != EINTR) return -1;
    return link;
}

static int report(int link)
{
    static struct mao_session_report text;
    const char* workdir = the_current_working_directory;
    size_t bytes = workdir ? strlen(workdir) : 0;
    if (bytes > sizeof text.workdir) bytes = 0;
    text.version = mao_session_version;
    text.exit_code = last_command_exit_value;
    if (bytes != 0) memcpy(text.workdir, workdir, bytes);
    return send(link, &text, offsetof(struct mao_session_report, workdir) + bytes, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/* -1: there is none, and the shell is to end. */
static int receive(int link, struct mao_session_order* order, int descriptors[mao_session_descriptors])
{
    union {
        char bytes[CMSG_SPACE(mao_session_descriptors * sizeof(int))];
        struct cmsghdr aligned;
    } control;
    struct iovec whole = {order, sizeof *order};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    memset(order, 0, sizeof *order);
    message.msg_iov = &whole;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    ssize_t got;
    do
        got = recvmsg(link, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    const struct cmsghdr* passed = CMSG_FIRSTHDR(&message);
    if (got < (ssize_t)offsetof(struct mao_session_order, workdir) || order->version != mao_session_version)
        return -1;
    if (!passed || passed->cmsg_len < CMSG_LEN((mao_session_descriptors - 1) * sizeof(int))) return -1;
    descriptors[mao_session_descriptors - 1] = -1;
    memcpy(descriptors, CMSG_DATA(passed), passed->cmsg_len - CMSG_LEN(0));
    order->workdir[mao_session_workdir_bytes - 1] = 0;
    return 0;
}

/* Of bash's own memory, which it frees. */
static char* read_all(int file, size_t bytes)
{
    char* text = xmalloc(bytes + 1);
    size_t at = 0;
    while (at < bytes) {
        const ssize_t got = pread(file, text + at, bytes - at, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        at += (size_t)got;
    }
    text[at] = 0;
    close(file);
    return text;
}

/* What a variable was before one command had it otherwise. */
struct before {
    struct before* next;
    char* value; /* NULL: it had none */
    int existed;
    int attributes;
    char name[];
};

static char* copy_of(const char* text)
{
    const size_t bytes = strlen(text) + 1;
    return memcpy(xmalloc(bytes), text, bytes);
}

/* An array, a constant, a reference or a variable that bash itself computes is left as it is. Integers and the like are
   plain ones for the time of the call: their values would be evaluated. */
static int is_replaceable(const variable* found)
{
    return (found->attributes & (att_readonly | att_array | att_assoc | att_nameref)) == 0 &&
           !found->dynamic_value && !found->assign_func;
}

static struct before* set_variable(const char* entry, const char* equals, struct before* others)
{
    const size_t name_bytes = (size_t)(equals - entry);
    struct before* before = xmalloc(sizeof *before + name_bytes + 1);
    memcpy(before->name, entry, name_bytes);
    before->name[name_bytes] = 0;
    variable* found = find_variable_noref(before->name);
    if (found && !is_replaceable(found)) {
        free(before);
        return others;
    }
    before->existed = found != NULL;
    before->attributes = found ? found->attributes : 0;
    before->value = found && found->value ? copy_of(found->value) : NULL;
    before->next = others;
    if (found) found->attributes &= ~att_evaluated;
    variable* set = bind_variable(before->name, (char*)equals + 1, 0);
    if (set) set->attributes = (set->attributes | att_exported) & ~att_invisible;
    stupidly_hack_special_variables(before->name);
    return before;
}

static void overwrite(char* text)
{
    if (text) explicit_bzero(text, strlen(text));
}

/* What bash handed to the programs it started: copies of their own, which it frees as they are. */
static void overwrite_exported(const char* name)
{
    const size_t bytes = strlen(name);
    for (char** entry = export_env; entry && *entry; ++entry)
        if (strncmp(*entry, name, bytes) == 0 && (*entry)[bytes] == '=') overwrite(*entry + bytes + 1);
}

/* Whatever the call made of it: it may be a constant, an array or gone by now. */
static void restore_variable(void* argument)
{
    struct before* before = argument;
    variable* now = find_variable_noref(before->name);
    if (now) {
        if ((now->attributes & (att_array | att_assoc)) == 0) {
            overwrite(now->value);
            overwrite(now->exportstr);
            overwrite_exported(before->name);
        }
        now->attributes &= ~(att_readonly | att_nameref);
        unbind_variable_noref(before->name);
    }
    if (before->existed) {
        now = bind_variable(before->name, before->value ? before->value : "", 0);
        if (now) now->attributes = before->attributes;
    }
    stupidly_hack_special_variables(before->name);
}

/* What a call asks for before its command runs, and what is left of that. */
struct preparation {
    const struct mao_session_order* order;
    char* variables;
    struct before* before;
    int is_done;
};

static int change_directory(const char* path)
{
    word_list* words = make_word_list(make_word(path), NULL);
    const int outcome = cd_builtin(words);
    dispose_words(words);
    return outcome;
}

static void prepare(void* argument)
{
    struct preparation* wanted = argument;
    const char* end = wanted->variables + wanted->order->variables_bytes;
    for (const char* entry = wanted->variables; entry < end; entry += strlen(entry) + 1) {
        const char* equals = strchr(entry, '=');
        if (equals) wanted->before = set_variable(entry, equals, wanted->before);
    }
    if (wanted->before) array_needs_making = 1;
    wanted->is_done = wanted->order->workdir[0] == 0 || change_directory(wanted->order->workdir) == 0;
}

/* bash leaves by a jump where a value cannot be what its variable wants, and at an interrupt. */
static void guarded(void (*step)(void*), void* argument)
{
    interactive = 1;
    if (sigsetjmp(top_level, 0) == 0) step(argument);
    interactive = 0;
}

static void undo(struct preparation* wanted)
{
    if (wanted->before) array_needs_making = 1;
    while (wanted->before) {
        struct before* before = wanted->before;
        wanted->before = before->next;
        guarded(restore_variable, before);
        overwrite(before->value);
        free(before->value);
        free(before);
    }
}

static void listen_to_interrupts(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    /* One that came when the last command had ended already is not meant for this one. */
    was_interrupted = 0;
    interrupt_state = 0;
    wait_signal_received = 0;
    sigaction(mao_session_interrupt_signal, &action, NULL);
}

static void run(char* text)
{
    read_but_dont_execute = 0; /* set -n ends with the command that set it: it would be the last one */
    indirection_level = 0; /* what set -x prints in front is for the user's nesting alone */
    interactive = 1; /* while an interrupt unwinds; seval_nonint makes it 0 for the command */
    const int jumped = sigsetjmp(top_level, 0);
    if (jumped == 0) {
        last_command_exit_value =
            parse_and_execute(text, "-c", seval_nonint | seval_nohist | seval_resetline);
    } else if (jumped != jump_discard) {
        /* An interrupt that comes late looks like the end of a script, or like a failure under set -e. */
        const int is_interrupt = was_interrupted && (jumped == jump_exitprog || jumped == jump_errexit);
        if (!is_interrupt) leave(jumped);
    }
    interactive = 0;
    interrupt_state = 0;
    wait_signal_received = 0;
}

static void serve(int link)
{
    struct mao_session_order order;
    int descriptors[mao_session_descriptors];
    if (report(link) != 0 || receive(link, &order, descriptors) != 0) leave(jump_exitprog);
    send(link, "", 1, MSG_NOSIGNAL); /* it is here: a shell that ends before this never ran the command */
    close(link);
    char* command = read_all(descriptors[0], order.command_bytes);
    struct preparation wanted = {&order, read_all(descriptors[4], order.variables_bytes), NULL, 0};
    for (int target = 0; target < 3; ++target) {
        dup2(descriptors[1 + target], target);
        close(descriptors[1 + target]);
    }
    clearerr(stdout);
    listen_to_interrupts();
    guarded(prepare, &wanted);
    explicit_bzero(wanted.variables, order.variables_bytes);
    free(wanted.variables);
    if (wanted.is_done) {
        run(command);
    } else {
        free(command);
        last_command_exit_value = 1;
    }
    undo(&wanted);
    interrupt_state = 0;
    wait_signal_received = 0;
    fflush(stdout);
    fflush(stderr);
    __fpurge(stdout); /* what could not be written is not the next command's */
    silence();
}

static int mao_session(word_list* words)
{
    static int is_running;
    if (is_running || !words) return ex_usage;
    is_running = 1;
    const size_t name_bytes = strlen(words->word->word);
    if (name_bytes + 1 > sizeof agent.sun_path) return ex_usage;
    agent.sun_family = AF_UNIX;
    memcpy(agent.sun_path + 1, words->word->word, name_bytes); /* abstract: a zero comes first */
    agent_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + name_bytes);

    /* Out of the script that called this, as an interrupt would leave it: from here on this is bash's main loop. */
    while (parse_and_execute_level > 0)
        parse_and_execute_cleanup(-1);
    run_unwind_protects();
    memcpy(exit_of_bash, top_level, sizeof exit_of_bash);
    unbind_variable("BASH_EXECUTION_STRING");
    startup_state = of_script; /* no command is the last one, for which bash would not fork */
    last_command_exit_value = 0;
    for (;;) {
        const int link = connect_to_agent();
        if (link < 0) leave(jump_exitprog);
        serve(link);
    }
}

static const char* const long_doc[] = {"Runs the commands of a kept session; the runtime agent calls it.",
                                       NULL};

__attribute__((visibility("default"))) struct builtin mao_session_struct = {
    "mao_session", mao_session, builtin_enabled, long_doc, "mao_session NAME", NULL};
