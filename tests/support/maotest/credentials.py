"""What calls see of stored credentials, and the files behind them."""

SHOW = 'echo "mao=$MAO_TOKEN ecp=$ECP_TOKEN lark=$LARKSUITE_CLI_APP_ID:$LARKSUITE_CLI_USER_ACCESS_TOKEN"'


def seen(api, user, **members):
    """The credentials in a shell's environment, as `line` writes them."""
    return api.tool(user, "shell", {"command": SHOW}, **members)["stdout"].strip()


def line(mao="", ecp="", lark=":"):
    return f"mao={mao} ecp={ecp} lark={lark}"


def files(instance):
    """Key and database of an instance."""
    state = instance.path("MAO_STATE_DIR")
    return state / "credentials.key", state / "credentials.sqlite"
