"""What completes commands and options in a shell."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser, Namespace

from headscope.cli.command import Answer, Command, commands, register

BASH = """\
_headscope() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}"
  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "{names} --help --version" -- "$word")); return; fi
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
}}
complete -o default -F _headscope headscope"""
ZSH = "autoload -U +X bashcompinit && bashcompinit\n{bash}"
FISH = "complete -c headscope -n __fish_use_subcommand -f -a {name} -d '{about}'"
FISH_OPTION = "complete -c headscope -n '__fish_seen_subcommand_from {name}' -l {option}"
SHELLS = ("bash", "zsh", "fish")


@register
class Completion(Command):
    """A script that a shell reads when it starts."""

    name = "completion"
    about = "print what completes commands in bash, zsh or fish"

    def arguments(self, parser: ArgumentParser) -> None:
        """The shell."""
        parser.add_argument("shell", choices=SHELLS, help="the shell that reads it")

    def run(self, options: Namespace) -> Answer:
        """Writes the script."""
        script = {"bash": bash, "zsh": lambda: ZSH.format(bash=bash()), "fish": fish}[options.shell]()
        return {"shell": options.shell, "script": script}, script


def bash() -> str:
    """For bash; zsh reads the same after one line."""
    cases = [
        f'    {name}) COMPREPLY=($(compgen -W "{" ".join(found)}" -- "$word")) ;;'
        for name, found in options_of().items()
    ]
    return BASH.format(names=" ".join(options_of()), cases="\n".join(cases))


def fish() -> str:
    """For fish."""
    lines = [FISH.format(name=one.name, about=one.about.replace("'", "\\'")) for one in commands()]
    for name, found in options_of().items():
        lines += [FISH_OPTION.format(name=name, option=option.removeprefix("--")) for option in found]
    return "\n".join(lines)


def options_of() -> dict[str, list[str]]:
    """The long options of every command, by its name."""
    found = {}
    for command in commands():
        parser = argparse.ArgumentParser()
        parser.add_argument("--json", action="store_true")
        command.arguments(parser)
        found[command.name] = [one for one in parser._option_string_actions if one.startswith("--")]
    return found
