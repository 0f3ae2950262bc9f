import pytest
import typer
from typer.testing import CliRunner

from memsif_ray.cli.failures import CommandGroup
from memsif_ray.errors import ConfigError, DataError, EmbedderMismatch, RequestRefused, ServiceBusy


def call(error: BaseException, *arguments: str):
    app = typer.Typer(cls=CommandGroup, pretty_exceptions_enable=False)

    @app.callback()
    def _everywhere(debug: bool = False) -> None: ...

    @app.command()
    def fail() -> None:
        raise error

    return CliRunner().invoke(app, [*arguments, "fail"])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("a typo"), 2),
        (EmbedderMismatch("two embedders"), 2),
        (DataError("file.json, record 3: no turns"), 2),
        (ServiceBusy("gone", "connection"), 3),
        (RequestRefused("too long", "context_length_exceeded"), 3),
    ],
)
def test_an_expected_error_is_one_line_and_a_code(error, code):
    result = call(error)
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr == f"memsif: {type(error).__name__}: {error}\n"


def test_an_interrupt_says_how_to_go_on():
    result = call(KeyboardInterrupt())
    assert result.exit_code == 130
    assert "same command goes on" in result.stderr


def test_debug_shows_where_it_came_from():
    assert isinstance(call(ConfigError("a typo"), "--debug").exception, ConfigError)


def test_a_bug_is_not_dressed_up():
    assert isinstance(call(KeyError("bug")).exception, KeyError)


def test_every_command_documents_its_exit_codes(memsif):
    for command in (
        ["run"],
        ["show"],
        ["doctor"],
        ["calibrate"],
        ["data", "check"],
        ["bench", "retrieval"],
    ):
        shown = memsif(*command, "--help")
        assert shown.exit_code == 0
        assert "Exit codes" in shown.stdout, command
