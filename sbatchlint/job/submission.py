"""Jobs that a script submits itself: a heredoc or a file that it passes to sbatch, and the text of `--wrap`.

Options on the command line of that sbatch override those of the submitted script (src/sbatch/opt.c, 22.05 to 26.05:
the command line is read last). The text of --wrap runs after `#!/bin/sh`, and `#SBATCH` lines in it are not read
(src/sbatch/sbatch.c, `_script_wrap()`).
"""

from sbatchlint.bash.expansion.printing import join_fields
from sbatchlint.bash.trace import Invocation, Submission
from sbatchlint.bash.values import Text, shown_text
from sbatchlint.job.argv import Argv
from sbatchlint.site import Site
from sbatchlint.slurm.directives import Directives, Setting
from sbatchlint.slurm.lines import DirectiveLine, Token
from sbatchlint.slurm.reading import parse_words, read
from sbatchlint.slurm.versions import Range


def submitted_directives(submission: Submission, versions: Range, site: Site) -> Directives:
    """The option block of a submitted script, with the settings on the command line of its sbatch."""
    text = Text(submission.text.field[:1]) if submission.wrapped else submission.text
    directives = Directives(text, versions, site.plugin_options, read(text, versions, site.plugin_options))
    command = submission.command
    if command is not None:
        directives.overriding, certain = _own_settings(command, submission.rest, versions, site.plugin_options)
        directives.certain = directives.certain and certain
        if submission.wrapped:
            directives.appended_at = command.span.end
    return directives


def _own_settings(
    command: Invocation, rest: int, versions: Range, extra: tuple[str, ...]
) -> tuple[tuple[Setting, ...], bool]:
    """The options among the first `rest` words of an sbatch, in order of precedence, and whether these are all."""
    line, words = option_words(command.argv[:rest], "sbatch")
    settings, _, certain = parse_words(line.text, words, 0, versions.majors, extra)
    return tuple(each for each in settings if each.option is None or not each.option.early), certain


def option_words(argv: Argv, command: str) -> tuple[DirectiveLine, list[tuple[DirectiveLine, Token]]]:
    """The words of a command as a directive line, and those after the command's name as its tokens."""
    text = Text(join_fields(argv))
    line = DirectiveLine(text, command, 0, len(text.string), len(text.string), 0)
    words: list[tuple[DirectiveLine, Token]] = []
    at = 0
    for string in map(shown_text, argv):
        words.append((line, Token(string, at, at + len(string))))
        at += len(string) + 1
    return line, words[1:]
