#pragma once
// Every bound of the product, with its unit in the name and its reason beside it. Nothing a peer, a user or a caller
// sends is stored before it was held against one of these (C4).

#include <chrono>
#include <cstddef>

namespace mao::limits {

using namespace std::chrono_literals;

// -- Frames and messages (P4, P5) --

// A frame on the wire. Small enough that control frames never wait long behind a bulk one (256 KiB takes about
// 0.1 ms on a Unix socket), large enough that framing costs nothing.
inline constexpr std::size_t frame_bytes_max = 256 * 1024;
// A message after its parts were joined: an MCP result of 16 MiB whose every byte needs escaping still fits.
inline constexpr std::size_t message_bytes_max = 40 * 1024 * 1024;
// The text of one part before it is escaped as a JSON string: it is JSON text itself, so at most every byte doubles,
// and the frame must still fit.
inline constexpr std::size_t part_text_bytes_max = 120 * 1024;
// JSON nesting of one message; tool arguments of real clients stay below 20.
inline constexpr std::size_t json_depth_max = 64;
// Values in one message, parsed in at most 10 ms: a message of `0,0,0,…` would take over a second and a gigabyte.
inline constexpr std::size_t json_values_max = 100'000;
// Messages of one peer that are partly received at the same time, and what they may hold together.
inline constexpr std::size_t partial_messages_max = 64;
inline constexpr std::size_t partial_bytes_max = 2 * message_bytes_max;
// Numbers in messages: exactly representable by every JSON reader.
inline constexpr long long json_integer_max = 9'007'199'254'740'991;

// -- Sending queues of one connection --

// Waiting to be written, all streams together; beyond it `send` is refused with `overloaded`.
inline constexpr std::size_t outgoing_bytes_max = 64 * 1024 * 1024;
inline constexpr std::size_t outgoing_streams_max = 4096;
// Control messages have room of their own, so that a pong or a cancel leaves while bulk fills the queue.
inline constexpr std::size_t outgoing_control_bytes_max = 1024 * 1024;
// Gathered into one write: keeps the time to the next control frame short.
inline constexpr std::size_t write_batch_bytes_max = 256 * 1024;

// -- Byte streams: terminals and files (P5) --

// What one side may allow the other to send ahead. A gigabyte a second with an answer within a millisecond fits.
inline constexpr std::size_t stream_window_bytes_max = 4 * 1024 * 1024;
// Of a file: four frames on the way hide the time its reader takes.
inline constexpr std::size_t file_window_bytes = 1024 * 1024;
// A file whose agent sends nothing, though it may, for so long is given up.
inline constexpr auto file_silence_max = 60s;
// Read at the same time by one agent, and how long one waits for a receiver that takes nothing.
inline constexpr std::size_t file_reads_max = 32;
inline constexpr auto file_stalled_max = 60s;
// Of a terminal's output and input: a screen has some kilobytes; what is on the way is what Ctrl-C must wait for.
inline constexpr std::size_t terminal_window_bytes = 256 * 1024;
// The bytes of one frame: in JSON they grow by a third.
inline constexpr std::size_t raw_payload_bytes_max = frame_bytes_max - 8;
inline constexpr std::size_t json_payload_bytes_max = 180 * 1024;
// Both directions, terminals and files of one connection together.
inline constexpr std::size_t byte_streams_max = 256;

// -- Terminals (Y1-Y3) --

// What can be shown again to one who comes back (Y2).
inline constexpr std::size_t terminal_replay_bytes = 256 * 1024;
inline constexpr std::size_t terminals_max = 64;
// After its program ended a terminal can still be looked at; beyond, the one that ended first is forgotten.
inline constexpr auto terminal_kept_after_end = 10min;
inline constexpr std::size_t terminals_kept_after_end_max = 16;
// Forgotten by everybody: nobody attached, nothing typed, nothing printed. A night and the day after it.
inline constexpr auto terminal_idle_max = 24h;
inline constexpr std::size_t terminal_viewers_max = 32;
// One message to a viewer; the one being written is all that is held for a slow one.
inline constexpr std::size_t terminal_message_bytes_max = 64 * 1024;
// One message of a viewer: a paste of a megabyte with room to spare.
inline constexpr std::size_t terminal_input_bytes_max = 4 * 1024 * 1024;
// The agent answers from memory, or with one fork.
inline constexpr auto terminal_answer_deadline = 15s;
// How long viewers wait for an agent whose connection was lost; it comes back within some seconds.
inline constexpr auto terminal_reconnect_patience = 60s;
// Of a viewer: pings, and how long a peer that shows no sign of life is kept.
inline constexpr auto web_socket_ping_interval = 30s;
inline constexpr auto web_socket_silence_max = 90s;
// For the other side to answer a close.
inline constexpr auto web_socket_close_deadline = 1s;

// -- Kept results (P7) --

// Asked again with the same id, an agent answers from these; beyond, the oldest is forgotten and said to be.
inline constexpr std::size_t kept_results_bytes_max = 16 * 1024 * 1024;
inline constexpr std::size_t kept_results_max = 1024;
inline constexpr auto kept_result_age_max = 60min;
// Output events of one running call that wait to be asked for again.
inline constexpr std::size_t kept_output_bytes_max = 256 * 1024;
inline constexpr std::size_t digest_bytes_max = 128;
// Ids of calls whose result is gone: they are never carried out again. A host asks again within minutes, or never.
inline constexpr std::size_t forgotten_calls_max = 4096;
// Queued for a host that does not keep up; beyond, output is left out rather than held (the numbers tell).
inline constexpr std::size_t output_behind_bytes_max = 1024 * 1024;
// The bytes of one output event: escaped and repaired they still fit a frame in all but odd cases.
inline constexpr std::size_t output_event_bytes_max = 32 * 1024;

// -- Calls across connections (P7, A3) --

// Until an agent whose connection was lost must be back: its longest pause, and the check of who it is.
inline constexpr auto agent_return_deadline = 30s;
inline constexpr std::size_t idempotency_key_bytes_max = 100;
// Calls that can be joined or outlive their caller, of all users: each holds its output, and its result at the end.
inline constexpr std::size_t followed_calls_max = 4096;
// What is remembered on disk of keys that were used; a backend that repeats a call does so within the hour.
inline constexpr auto reservation_age_max = 24h;
inline constexpr std::size_t reservations_max = 100'000;
// A client's event stream says so often that it lives.
inline constexpr auto event_stream_keep_alive = 15s;
// Written to it at once, so that a slow one waits with little in its hands.
inline constexpr std::size_t event_stream_batch_bytes = 64 * 1024;

// -- Calls on one connection --

inline constexpr std::size_t in_flight_requests_max = 1024;
// Frames that answer nothing we asked, in a minute, before the connection is closed as broken. Some are no fault: a call
// was given up, or a stream closed, while they were on their way.
inline constexpr std::size_t unsolicited_messages_max = 10'000;

// -- Peers that are not trusted (C4): every agent, as a host sees it --

// Values of one message. No message of an agent has a hundredth of it; a hundred thousand would hold up all others for
// 10 ms.
inline constexpr std::size_t untrusted_json_values_max = 4096;
// Of a message in parts that nobody waits for, before the rest of it is dropped.
inline constexpr std::size_t unasked_message_bytes_max = frame_bytes_max;
// What such a peer says unasked may take one fiftieth of the loop's time, and so much at once; then it is not read for
// a while. An honest agent's statuses take a hundredth of that.
inline constexpr int unasked_time_part = 50;
inline constexpr auto unasked_time_burst = 5ms;
// The frames of one connection are taken for so long before the others have their turn.
inline constexpr auto reader_turn_max = 200us;

// -- Times of the channel (P6, case 65) --

inline constexpr auto hello_deadline = 5s;
// From the first byte of a frame to its last: a trickling peer is closed.
inline constexpr auto frame_deadline = 30s;
inline constexpr auto ping_interval = 30s;
inline constexpr int pings_unanswered_max = 3;
// A write that makes no progress for this long means a dead or hostile reader.
inline constexpr auto write_deadline = 60s;

// -- Connecting (agent; case 70) --

inline constexpr auto reconnect_first_delay = 20ms;
// Nobody listens: the daemon is restarting. Short, since its users wait (case 56: back within 5 s).
inline constexpr auto reconnect_delay_max = 4s;
// Accepted and closed again: the daemon does not want this agent; hammering it helps nobody (case 70).
inline constexpr auto reconnect_after_close_delay_max = 15s;
// A connection that lived shorter does not reset the back-off: no tight loop against accept-then-close.
inline constexpr auto connection_healthy_after = 10s;

// -- Accepting (daemon; case 64) --

// Connections of one user that are being checked at the same time; a flood is refused at accept.
inline constexpr std::size_t peers_being_checked_max = 4;
inline constexpr auto peer_check_deadline = 20s;
// Refused peers of one user are audited one by one up to this many a minute, then counted only.
inline constexpr std::size_t refusals_audited_per_minute = 60;

// -- Tool calls (T1-T5) --

inline constexpr auto tool_timeout_default = 120s;
inline constexpr auto tool_timeout_max = 3600s;
// Between TERM and KILL, and until the last of a call's processes must be gone.
inline constexpr auto kill_grace = 2s;
// The host waits this much longer than the agent was told to, so that the agent's answer wins.
inline constexpr auto tool_answer_margin = 10s;
inline constexpr std::size_t command_bytes_max = 16 * 1024 * 1024;
inline constexpr std::size_t stdin_bytes_max = 16 * 1024 * 1024;
// Returned text of one output stream: what a model can use; the whole is in the spool file.
inline constexpr std::size_t output_characters_max = 30'000;
inline constexpr std::size_t output_spool_bytes_max = 10 * 1024 * 1024;
inline constexpr std::size_t concurrent_calls_max = 256;
// Kept shells of one runtime: each is a bash of some megabytes. Settings may ask for fewer or more.
inline constexpr std::size_t sessions_default = 32;
inline constexpr std::size_t sessions_possible = 256;
inline constexpr auto session_idle_default = 30min;
inline constexpr std::size_t session_id_bytes_max = 64;
// How long a call waits for the one before it in the same session, and how many may wait.
inline constexpr auto session_wait_max = 30s;
inline constexpr std::size_t session_waiters_max = 32;
// Sessions that ended by themselves: their exit code is still told to who asks for them.
inline constexpr std::size_t sessions_remembered_max = 256;
// Background tasks: those that run and those whose result nobody took.
inline constexpr std::size_t tasks_default = 64;
inline constexpr std::size_t tasks_possible = 512;
inline constexpr auto task_timeout_max = 24h;
inline constexpr auto task_kept_max = 24h;
// A result that was given can be asked for again, by a caller who did not get the answer; of larger ones the oldest go
// earlier.
inline constexpr auto task_kept_after_given = 10min;
inline constexpr std::size_t tasks_given_bytes_max = 8 * 1024 * 1024;
// The results of one answer; those beyond are left for the next.
inline constexpr std::size_t task_answer_bytes_max = 4 * 1024 * 1024;
inline constexpr long long task_output_bytes_max = 1024 * 1024;
inline constexpr long long task_output_bytes_default = 64 * 1024;
// To a program that does not read its input.
inline constexpr auto task_input_wait_max = 10s;
// Of a command's text, in lists of what runs.
inline constexpr std::size_t command_shown_bytes_max = 200;
// Environment given with a call. The kernel refuses a single string of 128 KiB.
inline constexpr std::size_t env_entries_max = 256;
inline constexpr std::size_t env_name_bytes_max = 256;
inline constexpr std::size_t env_value_bytes_max = 128 * 1024 - 512;
inline constexpr std::size_t env_bytes_max = 1024 * 1024;

// -- File tools (T6, T7) --

inline constexpr std::size_t read_lines_default = 2000;
inline constexpr std::size_t read_line_characters_max = 2000;
inline constexpr std::size_t read_result_bytes_max = 8 * 1024 * 1024;
inline constexpr std::size_t write_file_bytes_max = 32 * 1024 * 1024;
// Edited in memory: the old content, the new one and what is between them.
inline constexpr std::size_t edit_file_bytes_max = 32 * 1024 * 1024;
inline constexpr std::size_t edits_max = 256;
// Fresh starts of a change whose file others change meanwhile.
inline constexpr int change_attempts_max = 8;
inline constexpr std::size_t path_bytes_max = 4095;
inline constexpr std::size_t name_bytes_max = 255;

// -- Searches (T8) --

inline constexpr long long search_results_default = 250;
inline constexpr long long search_results_possible = 10'000;
// Of a result's text: several times what a model reads at once.
inline constexpr std::size_t search_result_bytes_max = 512 * 1024;
// A matching line is shown up to here.
inline constexpr std::size_t search_line_bytes_max = 1000;
// Counted beyond what is shown, and no further: the search is ended then.
inline constexpr std::size_t search_counted_max = 1'000'000;
// Names that are held to find the newest among them: about 100 bytes each.
inline constexpr std::size_t glob_candidates_max = 200'000;
// One argument of a program is at most 128 KiB.
inline constexpr std::size_t search_pattern_bytes_max = 32 * 1024;
inline constexpr std::size_t search_warnings_max = 20;
inline constexpr auto search_timeout_default = 60s;

// -- Mounts (M3) --

// Chat workspaces of one container: each is a mount that the engine makes at every start (about 0.3 ms).
inline constexpr std::size_t chat_workspaces_max = 200;
// The mount table of a container or of the host, as text: thousands of mounts.
inline constexpr std::size_t mount_table_bytes_max = 8 * 1024 * 1024;

// -- Engine (C++ client of the Docker Engine API) --

inline constexpr std::size_t engine_answer_bytes_max = 16 * 1024 * 1024;
// Every call has a deadline; `engine down` is told within 10 s (issue: engine down).
inline constexpr auto engine_call_deadline = 8s;
// Creating and starting queue behind other starts of the machine.
inline constexpr auto engine_start_deadline = 60s;
inline constexpr std::size_t container_log_lines_in_errors = 20;

// -- API (A1) --

inline constexpr std::size_t api_body_bytes_max = 36 * 1024 * 1024;
inline constexpr std::size_t api_header_bytes_max = 16 * 1024;
inline constexpr std::size_t api_connections_max = 1024;
inline constexpr auto api_header_deadline = 10s;
inline constexpr auto api_body_deadline = 60s;
inline constexpr auto api_idle_deadline = 120s;
// Bytes of bodies held at once by all connections.
inline constexpr std::size_t api_bodies_bytes_max = 512 * 1024 * 1024;
// How long a stop waits for calls that are being answered (A5).
inline constexpr auto shutdown_drain_deadline = 20s;

// -- Stored credentials (E2) --

// One value. A token with many claims has some kilobytes; as a variable it fits an environment.
inline constexpr std::size_t credential_bytes_max = 16 * 1024;
// A name of the DNS, a colon and a port.
inline constexpr std::size_t credential_host_bytes_max = 253 + 6;
// A git host each, and the three others, with room to spare.
inline constexpr std::size_t credentials_of_user_max = 64;
// Of all users, sealed: they are held in memory, so that no call waits for the disk. About 200 000 tokens.
inline constexpr std::size_t credentials_bytes_max = 64 * 1024 * 1024;

} // namespace mao::limits
