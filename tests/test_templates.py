"""Files that a program fills in: what is read in them, what is still found, and what no fix may touch."""

from __future__ import annotations

import pytest

from sbatchlint.bash.values import may_have_slots
from sbatchlint.engine import inspect
from sbatchlint.fix import fix_source
from sbatchlint.settings import Settings
from sbatchlint.source.templates import rendered, slots
from sbatchlint.source.text import Source

HEAD = "#!/bin/bash\n"


def shown(text: str) -> str:
    """What a shell gets, with `‹…›` for what is filled in."""
    return "".join(text[start:end] if known else f"‹{text[start:end]}›" for start, end, known in rendered(text))


def found(text: str) -> list[tuple[str, int]]:
    source = Source(text, "job.sbatch")
    diagnostics = inspect(source, Settings.of_table({})).diagnostics
    return [(each.code, source.row(each.span.start)) for each in diagnostics if each.code not in ("SB710", "SB323")]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{% if a %}\nx={{ a }}\n{% else %}\nx=1\n{% endif %}\ny\n", "x=‹{{ a }}›\ny\n"),
        ("{% if a %}{% for b in a %}\nx {{ b }}\n{% endfor %}{% else %}z\n{% endif %}\n", "x ‹{{ b }}›\n"),
        ("a {% if b %}-b {{ b }}{% endif %}\nc\n", "a -b ‹{{ b }}›\nc\n"),
        ("{%- macro step(a) -%}\nrun {{ a }}\n{%- endmacro %}\n{{ step(1) }}\n", "‹{{ step(1) }}›\n"),
        ("{% if a %}\n{{ '#SBATCH -c %s' % a }}\n{% endif %}\n", "‹{{ '#SBATCH -c %s' % a }}›\n"),
        ("{# {% if %} #}\na {#- b -#} c\n{% set d = 1 %}\n", "a  c\n"),
        ("{{- if .gpus }}\na {{ .gpus }}\n{{- else }}\nb\n{{- end }}\n{{/* c */}}\n", "a ‹{{ .gpus }}›\n"),
        ("{{ range .mods }}\nml {{ . }}\n{{ end }}\n{{ $x := 4 }}\n", "ml ‹{{ . }}›\n"),
        ("{{#if a}}\nx {{a}}\n{{else}}\ny\n{{/if}}\n{{^b}}\n{{{c}}}\n{{/b}}\n", "x ‹{{a}}›\n‹{{{c}}}›\n"),
        ("<% if a %>\nx <%= a -%>\n<% else %>\ny\n<% end %>\n<%# b %>\n", "x ‹<%= a -%>›\n"),
        ("<% for (a in b) { %>\nx <%= a %>\n<% } %>\n", "x ‹<%= a %>›\n"),
        ("<% a.each do |b| %>\nx <%= b %>\n<% end %>\ny\n", "x ‹<%= b %>›\ny\n"),
        ("% if a:\nx\n% else:\ny\n% endif\nz\n", "x\nz\n"),
        ("#SBATCH -n {n}\nrun {n} ${{A}} {b[0]} {c:.2f}\n", "#SBATCH -n ‹{n}›\nrun ‹{n}› ${A} ‹{b[0]}› ‹{c:.2f}›\n"),
        ("#SBATCH -n @N@\nrun @@A@@ a@b.c ${a[@]}\n", "#SBATCH -n ‹@N@›\nrun ‹@@A@@› a@b.c ${a[@]}\n"),
        ("#SBATCH -n __N__\nrun __ARGS__ $__a__\n", "#SBATCH -n ‹__N__›\nrun ‹__ARGS__› $__a__\n"),
        ("#SBATCH -n %%n%% -t %WALL%\n%NPROC% %%x%%\n", "#SBATCH -n ‹%%n%%› -t ‹%WALL%›\n‹%NPROC%› ‹%%x%%›\n"),
        ("#SBATCH -n %(n)s\nrun %(a)s\n", "#SBATCH -n ‹%(n)s›\nrun ‹%(a)s›\n"),
        ("#SBATCH -n %(n)02d\nrun %(a).3f\n", "#SBATCH -n ‹%(n)02d›\nrun ‹%(a).3f›\n"),
        ("#SBATCH -n @N\nrun @ARGS a@B.c x@D\n", "#SBATCH -n ‹@N›\nrun ‹@ARGS› a@B.c x@D\n"),
        ("#SBATCH -n XXXnXXX\nrun aXXXbXXX XXXX $XXX\n", "#SBATCH -n ‹XXXnXXX›\nrun a‹XXXbXXX› XXXX $XXX\n"),
        ("#SBATCH -n N_PLACEHOLDER\nPLACEHOLDER_A\n", "#SBATCH -n ‹N_PLACEHOLDER›\n‹PLACEHOLDER_A›\n"),
        # of no template
        ("#SBATCH -n 4\n{a} @B@ __C__ %%d%% {{1..3},9}\n", "#SBATCH -n 4\n{a} @B@ __C__ %%d%% {{1..3},9}\n"),
        ("docker ps -f '{{.Id}}'\n", "docker ps -f '{{.Id}}'\n"),
        ("echo ${#a[@]} ${a#b} ${#}\n", "echo ${#a[@]} ${a#b} ${#}\n"),
    ],
)  # fmt: skip
def test_what_a_shell_gets(template: str, expected: str) -> None:
    assert shown(template) == expected


# Each has nothing wrong, and gets one fault by a line of its own.
TEMPLATES = {
    "jinja": """\
#SBATCH --job-name="{{ name }}"
{% if nodes -%}
#SBATCH --nodes={{ nodes }}
{% elif slots -%}
#SBATCH --ntasks={{ slots }}
{% endif -%}
{{ '#SBATCH --cpus-per-task=%s' % cores if cores }}
{% for key, value in extra.items() %}#SBATCH --{{ key }}={{ value }}
{% endfor %}
FAULT
export {{ key }}={{ value }}
{{ command }}
{{ cleanup }}
""",
    "inline": """\
#SBATCH --nodes={{ nodes|default:1 }}
{% if run_time %}#SBATCH --time={{ run_time }}{% endif %}
{% if whole %}#SBATCH --exclusive{% endif %}
{% if gpus %}#SBATCH --gres={% if kind %}{{ kind }}{% else %}gpu{% endif %}:{{ gpus }}{% endif %}
FAULT
srun --ntasks={{ tasks }} ./solver
""",
    "go": """\
#SBATCH --nodes={{ .Values.nodes }}
{{- range .Values.directives }}
#SBATCH {{ . }}
{{- end }}
{{- with .Values.account }}
#SBATCH --account={{ . }}
{{- end }}
FAULT
srun --nodes={{ .Values.nodes }} python {{ .Values.script }} {{ range .Values.args }}{{ . }} {{ end }}
""",
    "handlebars": """\
#SBATCH --job-name={{name}}
{{#if gpus}}
#SBATCH --gres=gpu:{{gpus}}
{{/if}}
FAULT
{{{command}}}
""",
    "erb": """\
<%- unless queue.nil? -%>
#SBATCH --partition=<%= queue %>
<%- end -%>
#SBATCH --time <%= resources$walltime %>           ## walltime
FAULT
srun -n <%= tasks %> ./solver <%= "--fast" if fast %>
""",
    "brew": """\
<%
# resources, as they are given
walltime = ceiling(resources$walltime / 60)
if (is.null(resources$ncpus)) resources$ncpus = 1L
-%>
#SBATCH --time=<%= walltime %>
#SBATCH --cpus-per-task=<%= resources$ncpus %>
<%= if (array.jobs) sprintf("#SBATCH --array=1-%i", nrow(jobs)) else "" %>
<% if (!is.null(resources$memory)) { %>
#SBATCH --mem-per-cpu=<%= resources$memory %>
<% } %>
FAULT
Rscript -e 'doJobCollection("<%= uri %>")'
""",
    "format": """\
#SBATCH --job-name={name} # its name
#SBATCH --nodes={nodes}
#SBATCH --time={hours}:00:00
{directives}
FAULT
cd {folder}
srun -n {tasks} ./solver --input=${{INPUT}}
{command}
""",
    "slots": """\
#SBATCH --nodes=@NODES@
#SBATCH --ntasks-per-node=@@TASKS@@
#SBATCH --time=__TIME__
#SBATCH --mem=%%memory%%
#SBATCH --cpus-per-task=%CPUS%
#SBATCH @EXTRA@
#SBATCH --ntasks=XXXtasksXXX --hint=XXXhintXXX
#SBATCH --gres=@GRES --partition=PARTITION_PLACEHOLDER
#SBATCH XXXmoreXXX
%(maybe)s
DIRECTIVES_PLACEHOLDER
@DIRECTIVES@
FAULT
srun -n @NODES@ -c %CPUS% @EXE@ __ARGS__
@POST@
""",
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_has_no_faults_of_its_own(name: str) -> None:
    assert found(HEAD + TEMPLATES[name].replace("FAULT\n", "")) == []


@pytest.mark.parametrize(
    ("fault", "code"),
    [("#SBATCH --time=1:99:x", "SB121"), ("#SBATCH --mem 4 GB", "SB104"), ("#SBATCH --nodse=2", "SB111")],
)
@pytest.mark.parametrize("name", TEMPLATES)
def test_a_fault_in_a_template_is_found(name: str, fault: str, code: str) -> None:
    text = HEAD + TEMPLATES[name].replace("FAULT", fault)
    assert (code, text[: text.index(fault)].count("\n") + 1) in found(text)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_step_in_a_template_is_found(name: str) -> None:
    text = HEAD + TEMPLATES[name].replace("FAULT", "srun --ntasks=2 --no-such-option ./a.out")
    assert [code for code, _ in found(text)] == ["SB111"]


@pytest.mark.parametrize(
    "text",
    [
        "#SBATCH --time = {{ hours }}:00:00\nsrun ./a.out\n",
        "#SBATCH --job-name={{ name }}\n#SBATCH -mem={{ mem|int }}G -t= {{ t }}\nsrun ./a.out\n",
        "#SBATCH --ntasks=@N@\n#SBATCH -N=@N@ -mail-type=@M@\nsrun torchrun --nnodes=$SLURM_NNODES @A@\n",
        "#SBATCH -N=<%= n %>\n#SBATCH --partition = <%= p %> -t=<%= t %>\nsrun ./a.out\n",
    ],
)
def test_no_fix_changes_a_template(text: str) -> None:
    source = Source(HEAD + text, "job.sbatch")
    assert fix_source(source, Settings.of_table(select=["ALL"]), unsafe=True).source.text == source.text


@pytest.mark.parametrize(
    "slot",
    [
        "{nodes}",
        "@NODES@",
        "@@nodes@@",
        "__NODES__",
        "__nodes__",
        "_NODES_",
        "##NODES##",
        "%%nodes%%",
        "%NODES%",
        "%(nodes)s",
        "{{ nodes }}",
        "<%= n %>",
    ],
)
def test_the_quick_look_sees_every_slot(slot: str) -> None:
    text = f"{HEAD}#SBATCH --nodes={slot}\nsrun hostname\n"
    assert slots(text) and may_have_slots(text)


@pytest.mark.parametrize("slot", ["@[NODES]", "@NODES]"])
def test_the_quick_look_sees_slots_that_only_samples_have(slot: str) -> None:
    assert may_have_slots(f"{HEAD}#SBATCH --nodes={slot}\nsrun hostname\n")


@pytest.mark.parametrize("options", ["--output=%x-%A_%a.out --error=%J.err", "--mail-user=me@site.edu --job-name=a__b"])
def test_patterns_of_log_names_and_addresses_are_no_slots(options: str) -> None:
    assert not may_have_slots(f"{HEAD}#SBATCH {options}\nsrun hostname\n")
