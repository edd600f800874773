"""scripts/check-style.py finds each kind of planted violation and lets the right forms pass."""

import pytest

GOOD_AWAITS = [
    "co_await turn();",
    "if (ready) co_await turn();",
    "else co_await turn();",
    "case 1: co_await turn();",
    "(void)co_await turn();",
    "auto x = co_await turn();",
    "const auto [code, bytes] = co_await socket.async_read_some(buffer, as_tuple(use_awaitable));",
    "if (const bool ok = co_await turn(); !ok) co_return;",
    "for (;;) { co_await turn(); }",
    "value = co_await turn(a, b == c, !d);",
    "co_return co_await turn();",
    "co_await run([&] { work(); });",
    "co_await run([&a, this](int n) -> int { auto x = a ? n : 1; return x; });",
    "co_await run<A, B>(x[1], y->z);",
    "co_await initiate<const token_t<>, void(error_ptr)>(start, token);",
    'co_await say("a ? b : {c}; co_await d");',
    "// co_await x() + {1}\nco_await turn(); /* f(co_await g()) */",
    "auto x = co_await turn(\n    1'000,\n    'a');",
    'auto x = co_await say(R"(a " ? { )");',
]

BAD_AWAITS = [
    "if (co_await ok()) go();",
    "while (!(co_await ok())) go();",
    "f(co_await g());",
    "f(1, co_await g());",
    "auto x = co_await f() + 1;",
    "auto x = 1 + co_await f();",
    "auto x = co_await f() ? 1 : 2;",
    "auto x = ok ? co_await f() : T();",
    "auto x = co_await f() == 3;",
    "auto x = 3 == co_await f();",
    "auto x = co_await f() < 3;",
    "sum += co_await f();",
    "auto x = (co_await f()).value();",
    "return_value(T{co_await f()});",
    "Agg a{co_await x(), co_await y()};",
    "auto e = Agg{co_await f()};",
    "co_await f(co_await g());",
    "co_await f(Opts{a, b});",
    "co_await f({a, b});",
    "co_await f(ok ? a : b);",
    "co_await run([x] { go(x); });",
    "co_await run([=]() -> int { return 1; });",
    "co_await run([this, x = 1] { go(x); });",
    "for (auto& x : co_await list()) go(x);",
    "CHECK(co_await f());",
    "co_await a(), co_await b();",
    "if (auto x = co_await f()) go();",
]


def in_coroutine(statement):
    return f"awaitable<void> f()\n{{\n{statement}\n}}\n"


def found(style, tree):
    return style.check(str(tree.root))[0]


@pytest.mark.parametrize("statement", GOOD_AWAITS)
def test_an_await_that_stands_alone_passes(style, tree, statement):
    tree.write("protocol/channel/a.cpp", in_coroutine(statement))
    assert found(style, tree) == []


@pytest.mark.parametrize("statement", BAD_AWAITS)
def test_any_other_await_is_refused(style, tree, statement):
    tree.write("protocol/channel/a.cpp", in_coroutine(statement))
    assert [line for line in found(style, tree) if line.startswith("protocol/channel/a.cpp:3: await: ")]


@pytest.mark.parametrize("path,text,rule", [
    ("controlplane/a.cpp", "co_spawn(executor, f(), boost::asio::detached);\n", "detached"),
    ("controlplane/a.cpp", "using asio::detached;\n", "detached"),
    ("controlplane/a.cpp", "// TO" + "DO: later\n", "todo"),
    ("scripts/a", "# FIX" + "ME\n", "todo"),
    ("tests/unit/a.cpp", 'TEST_CASE("x" * doctest::skip())\n', "skip"),
    ("tests/unit/a.cpp", 'TEST_CASE("x" * doctest::may_fail())\n', "skip"),
    ("docs/a.md", "see /wor" + "k/tree\n", "machine"),
    ("images/Dockerfile", "FROM ghcr" + ".io/a/b\n", "machine"),
    ("images/Dockerfile", "FROM docker" + ".io/library/debian\n", "machine"),
    ("scripts/a.sh", "mirror=http://deb.debian" + ".org/debian\n", "machine"),
    ("controlplane/a.cpp", "\n" * 601, "length"),
    ("scripts/a.py", "\n" * 601, "length"),
])
def test_a_planted_violation_is_found(style, tree, path, text, rule):
    tree.write(path, text)
    violations = found(style, tree)
    assert len(violations) == 1
    assert violations[0].startswith(f"{path}:") and f" {rule}: " in violations[0]


@pytest.mark.parametrize("path,text", [
    ("controlplane/a.cpp", "// TO" + "DO(#12): when windows exist\n"),
    ("controlplane/a.cpp", "// never asio::detached: see TaskGroup\n"),
    ("controlplane/a.cpp", "auto detached = child.detached();\n"),
    ("docs/a.md", "install docker" + ".io; the root is /opt/data/workspace, {root}/wor" + "k/x\n"),
    ("docs/a.md", "\n" * 900),
    ("build/release/a.cpp", "if (co_await x()) go();\n"),
    (".git", "gitdir: /wor" + "k/clone/.git/worktrees/other\n"),
])
def test_what_only_looks_alike_passes(style, tree, path, text):
    tree.write(path, text)
    assert style.check(str(tree.root)) == ([], [])


def test_a_long_file_is_warned_about_before_it_is_refused(style, tree):
    tree.write("controlplane/a.cpp", "\n" * 401)
    violations, warnings = style.check(str(tree.root))
    assert violations == [] and len(warnings) == 1


def test_the_exit_code_tells(style, tree):
    assert style.main([str(tree.root)]) == 0
    tree.write("controlplane/a.cpp", "f(co_await g());\n")
    assert style.main([str(tree.root)]) == 1
