"""Batch scripts in Python programs: which strings are read, what of them is not known, and where repairs go."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from textwrap import dedent, indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import ROOT, examples
from sbatchlint.documents import document_with_ignores, fix_document, inspect_document
from sbatchlint.settings import Settings
from sbatchlint.source.documents import Snippet, read_document, snippets
from sbatchlint.source.text import SLOT, Source, Span

ALL = Settings.of_table({})

# Programs that make this script, with `_` for what they fill in.
SCRIPT = "#!/bin/bash\n#SBATCH -N=2\n#SBATCH --job-name=_\nsrun ./a _\n"
PROGRAMS = {
    "an f-string, written": '''
        def f(name, arguments):
            text = f"""#!/bin/bash
        #SBATCH -N=2
        #SBATCH --job-name={name}
        srun ./a {" ".join(arguments)}
        """
            with open("job.sbatch", "w") as file:
                file.write(text)
        ''',
    "returned": '''
        def script(name, arguments):
            return f"""#!/bin/bash
        #SBATCH -N=2
        #SBATCH --job-name={name["of"]!r:>10}
        srun ./a {arguments}
        """
        ''',
    "given to sbatch": '''
        subprocess.run(["sbatch"], text=True, input=f"""#!/bin/bash
        #SBATCH -N=2
        #SBATCH --job-name={name}
        srun ./a {arguments}
        """)
        ''',
    "given to a process": '''
        p = subprocess.Popen(["sbatch"], stdin=subprocess.PIPE)
        p.communicate(f"""#!/bin/bash
        #SBATCH -N=2
        #SBATCH --job-name={name}
        srun ./a {arguments}
        """.encode())
        ''',
    "format": '''
        TEMPLATE = """#!/bin/bash
        #SBATCH -N=2
        #SBATCH --job-name={name}
        srun ./a {0}
        """
        def f(path, name):
            path.write_text(TEMPLATE.format(1, name=name))
        ''',
    "percent": r'''
        open("j.sh", "w").write("#!/bin/bash\n#SBATCH -N=2\n#SBATCH --job-name=%s\nsrun ./a %(x)05.2f\n" % x)
        ''',
    "string.Template": '''
        T = string.Template("""#!/bin/bash
        #SBATCH -N=2
        #SBATCH --job-name=$name
        srun ./a ${arguments}
        """)
        path.write_text(T.substitute(name=1, arguments=2))
        ''',
    "replace": '''
        text = """#!/bin/bash
        #SBATCH -N=2
        #SBATCH --job-name=@@NAME@@
        srun ./a ARGUMENTS
        """
        path.write_text(text.replace("@@NAME@@", name).replace("ARGUMENTS", str(x)))
        ''',
    "dedent": '''
        def f(path, name):
            path.write_text(textwrap.dedent(f"""
                #!/bin/bash
                #SBATCH -N=2
                #SBATCH --job-name={name}
                srun ./a {name}
            """).lstrip())
        ''',
    "sums": r'''
        def f(name):
            text = "#!/bin/bash\n"
            text += "#SBATCH -N=2\n" + "#SBATCH --job-name=" + name + "\n"
            text += f"srun ./a {name}\n"
            submit(text)
        ''',
    "literals in a row": r'''
        text = (
            "#!/bin/bash\n"
            "#SBATCH -N=2\n"  # two
            f"#SBATCH --job-name={name}\n"
            f'srun ./a {name}\n'
        )
        write(text)
        ''',
    "lines": r'''
        lines = ["#!/bin/bash", "#SBATCH -N=2"]
        lines.append(f"#SBATCH --job-name={name}")
        lines += ["srun ./a " + x, ""]
        path.write_text("\n".join(lines))
        ''',
    "lines, tidied": r'''
        lines = ["#!/bin/bash", "#SBATCH -N=2"]
        lines.extend([f"#SBATCH --job-name={name}", f"srun ./a {name}", ""])
        text = "\n".join(line.rstrip() for line in lines)
        path.write_text(text)
        ''',
    "writes": r'''
        with open("job.sh", "w") as file:
            file.write("#!/bin/bash\n")
            file.writelines(["#SBATCH -N=2\n", "#SBATCH --job-name=%s\n" % name])
            print("srun", "./a", name, file=file)
        ''',
    "a file that is closed": r'''
        f = open(name + ".sh", "w")
        f.write("#!/bin/bash\n#SBATCH -N=2\n")
        f.write("#SBATCH --job-name={}\nsrun ./a {}\n".format(name, name))
        f.close()
        ''',
    "a loop that writes": r'''
        lines = ["#!/bin/bash", "#SBATCH -N=2", f"#SBATCH --job-name={name}", f"srun ./a {name}"]
        with open("job.sh", "w") as file:
            for line in lines:
                file.write(line + "\n")
        ''',
    "a function of the program": r'''
        def header(name):
            return f"#!/bin/bash\n#SBATCH -N=2\n#SBATCH --job-name={name}\n"
        def main(name):
            Path("job.sh").write_text(header(name) + f"srun ./a {name}\n")
        ''',
    "a part put in": r'''
        HEADER = """#SBATCH -N=2
        #SBATCH --job-name=%s"""
        def main(name):
            head = HEADER % name
            Path("job.sh").write_text(f"#!/bin/bash\n{head}\nsrun ./a {name}\n")
        ''',
    "a class": '''
        class Job:
            TEXT = """#!/bin/bash
        #SBATCH -N=2
        #SBATCH --job-name={name}
        srun ./a {x}
        """
            def write(self, path):
                path.write_text(self.TEXT.format(**vars(self)))
        ''',
}  # fmt: skip


def read(program: str) -> list[Snippet]:
    return snippets(Source(dedent(program), "a.py"))


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_script_is_read_whose_slots_are_not_known(program: str) -> None:
    found = read(program)
    assert [each.text for each in found] == [SCRIPT.replace("_", SLOT)]
    source = found[0].outer
    assert not found[0].is_fragment
    for index, character in enumerate(found[0].text):
        place = source.slice(found[0].span(found[0].line(1)._replace(start=index, end=index + 1)))
        assert character in (SLOT, "\n", " ", "#", "%", "2", "m") or place == character or "{" in place
    codes = {each.code: each for each in inspect_document(source, ALL).diagnostics}
    assert source.slice(codes["SB107"].span) == "-N=2" and codes["SB107"].severity == "error"


WRITABLE = sorted(set(PROGRAMS) - {"a part put in"})


@pytest.mark.parametrize("name", WRITABLE)
def test_a_repair_is_written_into_the_literal(name: str) -> None:
    source = Source(dedent(PROGRAMS[name]), "a.py")
    assert fix_document(source, ALL).source.text == source.text.replace("-N=2", "-N 2")


def test_scripts_with_a_part_in_common() -> None:
    program = """
        HEADER = "#!/bin/bash\\n#SBATCH -N=2\\n"
        def f(a):
            open("a.sh", "w").write(HEADER + "srun a\\n")
            open("b.sh", "w").write(HEADER + "srun b\\n")
        """
    source = Source(dedent(program), "a.py")
    assert [each.text[-7:] for each in snippets(source)] == ["srun a\n", "srun b\n"]
    found = [each for each in inspect_document(source, ALL).diagnostics if each.code == "SB107"]
    assert len(found) == 1
    assert fix_document(source, ALL).source.text == source.text.replace("-N=2", "-N 2")


def test_a_file_to_which_more_is_appended_is_a_piece() -> None:
    program = 'with open(p, "w") as f:\n  f.write("#!/bin/bash\\n#SBATCH -N 2\\n./a\\n")\n'
    (found,) = read(program)
    assert not found.is_fragment
    (found,) = read(program + 'with open(p, mode="a") as f:\n  f.write("./b\\n")\n')
    assert found.is_fragment


def test_what_a_string_shares_is_not_changed() -> None:
    source = Source(dedent(PROGRAMS["a part put in"]), "a.py")
    (found,) = [each for each in inspect_document(source, ALL).diagnostics if each.code == "SB107"]
    assert found.fix is None and fix_document(source, ALL).source.text == source.text


@pytest.mark.parametrize(
    ("program", "text"),
    [
        # braces, percents and dollars that stand for themselves
        ('w(f"#!/bin/bash\\n#SBATCH -N 2\\necho ${{A}} {x}\\n")', "#!/bin/bash\n#SBATCH -N 2\necho ${A} _\n"),
        ('w("#!/bin/bash\\n#SBATCH -N 2\\necho ${{A}} {}\\n".format(x))', "#!/bin/bash\n#SBATCH -N 2\necho ${A} _\n"),
        ('w("#!/bin/bash\\n#SBATCH -o %%j.%s\\n./a\\n" % x)', "#!/bin/bash\n#SBATCH -o %j._\n./a\n"),
        (
            'w(Template("#!/bin/bash\\n#SBATCH -N 2\\n./$$A $x\\n").safe_substitute(x=1))',
            "#!/bin/bash\n#SBATCH -N 2\n./$A _\n",
        ),
        # what is known is put in
        ('N = 2\nw(f"#!/bin/bash\\n#SBATCH -N {N}\\n./a\\n")', "#!/bin/bash\n#SBATCH -N 2\n./a\n"),
        ('def f():\n  n = "x"\n  w(f"#!/bin/bash\\n#SBATCH -J {n}\\n./a\\n")', "#!/bin/bash\n#SBATCH -J x\n./a\n"),
        # and what may be something else is not
        ('N = 2\nif a: N = 3\nw(f"#!/bin/bash\\n#SBATCH -N {N}\\n./a\\n")', "#!/bin/bash\n#SBATCH -N _\n./a\n"),
        ('def f(N=2):\n  w(f"#!/bin/bash\\n#SBATCH -N {N}\\n./a\\n")', "#!/bin/bash\n#SBATCH -N _\n./a\n"),
        ('for N in 1, 2:\n  w(f"#!/bin/bash\\n#SBATCH -N {N}\\n./a\\n")', "#!/bin/bash\n#SBATCH -N _\n./a\n"),
        (
            'N = 1\nfor _ in x:\n  w(f"#!/bin/bash\\n#SBATCH -N {N}\\n./a\\n")\n  N = 2\n',
            "#!/bin/bash\n#SBATCH -N _\n./a\n",
        ),
        (
            'N = 1\ndef g():\n  global N\n  N = 2\ndef f():\n  w(f"#!/bin/bash\\n#SBATCH -N {N}\\n./a\\n")',
            "#!/bin/bash\n#SBATCH -N _\n./a\n",
        ),
        ('w(f"#!/bin/bash\\n#SBATCH -N {4 * n}\\n./a\\n")', "#!/bin/bash\n#SBATCH -N _\n./a\n"),
    ],
)
def test_what_stands_in_a_string(program: str, text: str) -> None:
    (found,) = read(program)
    assert found.text == text.replace("_", SLOT)


@pytest.mark.parametrize(
    "program",
    [
        # lines that may be missing, or be there, or be others
        'def f(n):\n  t = "#!/bin/bash\\n#SBATCH -N 2\\n"\n  if n:\n    t += "#SBATCH -t 5\\n"\n  w(t + "./a\\n")',
        'L = ["#!/bin/bash", "#SBATCH -N 2"]\nfor m in x:\n  L.append(f"module load {m}")\nw("\\n".join(L + ["./a"]))',
        'L = ["#!/bin/bash", "#SBATCH -N 2", "./a"]\nadd(L)\nw("\\n".join(L))',
        'L = ["#!/bin/bash", "#SBATCH -N 2", *more, "./a"]\nw("\\n".join(L))',
        'w("\\n".join(["#!/bin/bash", "#SBATCH -N 2", "#SBATCH -t 5" if n else "", "./a"]))',
        'w(f"#!/bin/bash\\n#SBATCH -N 2\\n{options}\\n./a\\n")',
        'w(f"#!/bin/bash\\n#SBATCH -N 2\\n#SBATCH {options}\\n./a\\n")',
        'w(f"#!/bin/bash\\n#SBATCH -N 2\\n{setup}; ./a\\n")',
        'w(f"#!/bin/bash\\n#SBATCH -N 2\\ncd x && {command}\\n")',
        'with open("a.sh", "w") as f:\n  f.write("#!/bin/bash\\n#SBATCH -N 2\\n./a\\n")\n  more(f)',
        # options of sbatch that are not the script's
        'w("#!/bin/bash\\n#SBATCH -N 2\\n./a\\n")\nrun(["sbatch", "--gres=gpu:1", "x.sh"])',
        'w("#!/bin/bash\\n#SBATCH -N 2\\n./a\\n")\nos.system(f"sbatch {options} x.sh")',
        # another program fills it in
        'TEMPLATE = """#!/bin/bash\n#SBATCH -N {nodes}\n./a\n"""\n',
    ],
)
def test_a_script_of_which_something_may_be_missing_is_a_piece(program: str) -> None:
    found = [each for each in read(program) if each.text.startswith("#!")]
    assert [each.is_fragment for each in found] == [True]


def test_both_branches_of_a_condition_are_judged() -> None:
    program = """
        def f(n):
            lines = ["#!/bin/bash"]
            if n:
                lines.append("#SBATCH -N=2")
            else:
                lines += ["#SBATCH -n=2"]
            return "\\n".join(lines + ["srun ./a"])
        """
    source = Source(dedent(program), "a.py")
    found = [each for each in inspect_document(source, ALL).diagnostics if each.code == "SB107"]
    assert [source.slice(each.span) for each in found] == ["-N=2", "-n=2"]


def test_of_two_branches_within_a_line_the_first_is_read() -> None:
    start = 'def f(a):\n  c = "sbatch"\n  if a:\n    c += " -N=2"\n  else:\n    c += " -N=3"\n'
    (found,) = read(start + '  c += " job.sh"\n  os.system(c)\n')
    assert found.text == "sbatch -N=2 job.sh"
    start = 'with open("a.sh", "w") as f:\n  f.write("#!/bin/bash\\n#SBATCH -N 2\\n")\n'
    (found,) = read(start + '  if a:\n    f.write("srun a")\n  else:\n    f.write("srun b")\n  f.write(" -x\\n")\n')
    assert found.text == f"#!/bin/bash\n#SBATCH -N 2\nsrun a{SLOT}\nsrun b -x\n" and found.is_fragment


def test_nothing_is_missed_in_a_job_of_which_something_may_be_missing() -> None:
    program = """
        def f(options, gpus):
            command = "sbatch -N 2 --gres=gpu:4"
            if gpus:
                command += " --exclusive"
            os.system(command + " --wrap='srun torchrun --nproc_per_node=4 --standalone t.py'")
        """
    assert codes(program) == set()
    assert codes(program.replace("if gpus:", "with x:")) == {"SB309"}


def test_a_script_in_each_of_two_functions_has_its_own_names() -> None:
    function = (
        'def {0}(x):\n    text = f"""#!/bin/bash\n#SBATCH -N {1}\n./a {{x}}\n"""\n    open("a.sh", "w").write(text)\n'
    )
    found = read(function.format("f", 1) + function.format("g", 2))
    assert [each.text for each in found] == [f"#!/bin/bash\n#SBATCH -N {n}\n./a {SLOT}\n" for n in (1, 2)]


@pytest.mark.parametrize(
    ("program", "command"),
    [
        ('os.system("sbatch -N 2 job.sh")', "sbatch -N 2 job.sh"),
        ('subprocess.run(f"sbatch -N {n} job.sh", shell=True)', "sbatch -N _ job.sh"),
        ('subprocess.run(["sbatch", "-N", str(n), path])', "sbatch -N _ _"),
        ('c = ["sbatch"]\nc += ["-N", "2"]\nc.append(p)\nsubprocess.check_output(c)', "sbatch -N 2 _"),
        ('run(["/usr/bin/srun", "--ntasks=1", "echo", "a b"])', "/usr/bin/srun --ntasks=1 echo 'a b'"),
        ('run(" ".join(["sbatch", "--wrap", "\'hostname\'"]))', "sbatch --wrap 'hostname'"),
        ('await asyncio.create_subprocess_exec("sbatch", "-N", n)', "sbatch -N _"),
        ('self._run_command(f"sbatch {path}")', "sbatch _"),
        ('subprocess.run("sbatch -N 2 job.sh".split())', "sbatch -N 2 job.sh"),
        ('subprocess.run(f"cd {d} && sbatch -N 2 job.sh", shell=True)', "cd _ && sbatch -N 2 job.sh"),
        ('client.exec_command("cd a; sbatch -N 2 job.sh")', "cd a; sbatch -N 2 job.sh"),
        (
            'subprocess.run(f"cat <<EOF | sbatch\\n#!/bin/bash\\n#SBATCH -N {n}\\nEOF\\n", shell=True)',
            "cat <<EOF | sbatch\n#!/bin/bash\n#SBATCH -N _\nEOF\n",
        ),
        ('run(["bash", "-lc", f"cd {d} && sbatch -N 2 {job}"])', "bash -lc 'cd _ && sbatch -N 2 _'"),
        ('run(["/bin/sh", "-c"] + ["sbatch a"])', "/bin/sh -c 'sbatch a'"),
        ('c = ["bash", "-c"]\nc.append("sbatch %s" % a)\nrun(c)', "bash -c 'sbatch _'"),
        ('run(["timeout", "60", "sbatch", "a b"])', "timeout 60 sbatch 'a b'"),
        ('run(["ssh", "-p", "22", "-At", f"{u}@{host}", "cd a;", f"sbatch -N 2 {job}"])', "cd a; sbatch -N 2 _"),
        ('run(["ssh", *options, host, "sbatch a"])', "_ sbatch a"),
        ('run([shutil.which("sbatch"), "-N", "2"])', "sbatch -N 2"),
        ("run(shlex.split(f\"sbatch -J 'a b' {job} c\\\\ d\"))", "sbatch -J 'a b' _ 'c d'"),
        ('run(shlex.join(["sbatch", "a b"]), shell=True)', "sbatch 'a b'"),
        ('os.system("sbatch " + shlex.quote("a b"))', "sbatch 'a b'"),
        ('run("sbatch a".split(" "))', "sbatch a"),
        ('os.execvp("sbatch", ["sbatch", "-N", "2"])', "sbatch -N 2"),
        ('os.execlpe("sbatch", "sbatch", "-N", "2", os.environ)', "sbatch -N 2"),
        ('os.spawnlp(os.P_WAIT, "sbatch", "sbatch", "-N", n)', "sbatch -N _"),
        ('connection.run(f"cd {d}; sbatch -N 2")', "cd _; sbatch -N 2"),
    ],
)
def test_command_lines(program: str, command: str) -> None:
    (found,) = read(program)
    assert found.text == command.replace("_", SLOT) and found.is_fragment


def test_parameters_of_submitit() -> None:
    """As submitit 1.5.4 writes them: `_make_sbatch_string` and `_as_sbatch_flag` of slurm/slurm.py."""
    program = """
        import submitit
        executor.update_parameters(
            timeout_min=5, slurm_partition="a b", slurm_mem=memory, slurm_setup=["module load x"], slurm_qos=None,
            slurm_additional_parameters={"gres": "gpu:2", "mail_type": "ENDED", "exclusive": True},
        )
        other.update(slurm_mem="4X")
        """
    source = Source(dedent(program), "a.py")
    (script,) = snippets(source)
    lines = ["partition='a b'", f"mem={SLOT}", "gres=gpu:2", "mail-type=ENDED", "exclusive"]
    assert script.text == "".join(f"#SBATCH --{line}\n" for line in lines) and script.is_fragment
    found = inspect_document(source, ALL).diagnostics
    assert [(each.code, source.slice(each.span)) for each in found] == [("SB127", "ENDED")]


@pytest.mark.parametrize(
    "program",
    [
        'print("sbatch job.sh")',
        'logger.info(f"sbatch {path}")',
        'raise RuntimeError(f"sbatch failed: {error}")',
        'parser.add_argument("sbatch", help="sbatch -N=2")',
        'assert "#SBATCH -N=2" in text',
        'line.startswith("#SBATCH -N=")',
        'text.replace("#SBATCH -N=2", x)',
        '"""Write\n#!/bin/bash\n#SBATCH -N=2\n"""\n',
        'for key in x:\n    text = text.replace(key, x[key])\nw(text)\n"sbatch"',
        'T = """#!/bin/bash\n#SBATCH -N <nodes>\n./a\n"""\nfor k in x:\n    T = T.replace(f"<{k}>", x[k])\nw(T)',
        'T = """#!/bin/bash\n#SBATCH -N $nodes\n./a\n"""\n',
        'Path("README.md").write_text("#!/bin/bash\\n#SBATCH -N 2\\n./a\\n")',
        'open("job.sh.j2", "w").write("#!/bin/bash\\n#SBATCH -N NODES\\n./a\\n")',
        'open("a.xyz", "w").write("#!/bin/bash\\nsbatch job.sh\\n")',
        'subprocess.run("cd a && sbatch job.sh", shell=False)',
        'subprocess.run(["echo", "sbatch job.sh"])',
        'subprocess.run(["git", "commit", "-m", "sbatch job.sh"])',
        'subprocess.run(["ssh", "sbatch"])',
        'run(shlex.split("sbatch \'a"))',
    ],
)
def test_what_is_not_read(program: str) -> None:
    assert read(program) == []


@pytest.mark.parametrize("name", ["a.sl", "a.srun", "run.pbs", "a.submit", "job.{n}"])
def test_a_batch_script_may_have_any_name(name: str) -> None:
    written = 'file.write("#!/bin/bash\\n#SBATCH -N 2\\n./a\\n")'
    program = f'def f(n):\n    with open(f"{name}", "w") as file:\n        {written}\n'
    assert [each.text for each in read(program)] == ["#!/bin/bash\n#SBATCH -N 2\n./a\n"]


def codes(program: str) -> set[str]:
    found = inspect_document(Source(dedent(program), "a.py"), ALL).diagnostics
    return {each.code for each in found if each.severity != "info"}


def test_a_word_after_a_slot_is_judged() -> None:
    """A value that is filled in leaves the words after the next option where they are; a word may be anything."""
    line = 'w(f"#!/bin/bash\\n#SBATCH {0}\\nsrun ./a\\n")'
    for stray in "--gres=gpu:{n} --time=1 h", "-J {name} --mem=3 GB", "--job-name={a}_{b} -t 2 h":
        assert codes(line.format(stray)) == {"SB104"}, stray
    for silent in "{options} --mem=3 GB", "--comment={a} b", "-t {hours} h", "--mem=3 {unit}", "{a} b --mem=3G":
        assert codes(line.format(silent)) == set(), silent


def test_a_slot_is_a_value_that_is_not_known() -> None:
    """No finding rests on what a slot is called, nor on what may be in it."""
    assert (
        codes('w(f"#!/bin/bash\\n#SBATCH --time={time}\\n#SBATCH --mem={a[1]}\\n#SBATCH --mail-type={x}\\n./a\\n")')
        == set()
    )
    assert codes('w(f"#!/bin/bash\\n#SBATCH --gres=gpu:{n}\\nsrun torchrun --nproc_per_node={n} {a} t.py\\n")') == set()
    assert codes('w("#!/bin/bash\\n#SBATCH -N 2\\n#SBATCH -o %s\\ntorchrun %s t.py\\n" % (x, y))') == set()
    assert codes("os.system(f\"sbatch {options} --wrap '{command}'\")") == set()
    # and what does not depend on it is found
    assert codes('w(f"#!/bin/bash\\n#SBATCH --time={t}\\n#SBATCH --mem=4X\\n./a\\n")') == {"SB123"}
    assert codes('os.system(f"sbatch -N {n} --mem=4X job.sh")') == {"SB123"}
    launch = "srun torchrun --nproc_per_node=8 --standalone"
    assert codes(f'w(f"#!/bin/bash\\n#SBATCH -N2\\n#SBATCH -J {{x}}\\n{launch} {{y}}.py\\n")') == {"SB309"}


@pytest.mark.parametrize(
    ("program", "changed"),
    [
        # new lines go between lines of the program, as those around them begin
        (
            '''
            def f(x):
                w(dedent(f"""\\
                    #!/bin/bash
                    #SBATCH -N 2
                    srun ./a {x}
                    #SBATCH --time=5
                    srun ./b
                    """))
            ''',
            True,
        ),
        ('w(f"#!/bin/bash\\n#SBATCH -N 2\\nsrun ./a {x}\\n#SBATCH --time=5\\nsrun ./b\\n")', False),
    ],
)
def test_lines_are_moved_only_between_lines_of_the_program(program: str, changed: bool) -> None:
    source = Source(dedent(program), "a.py")
    (found,) = [each for each in inspect_document(source, ALL).diagnostics if each.code == "SB101"]
    fixed = fix_document(source, ALL, unsafe=True)
    assert (found.fix is not None) == changed == (fixed.source.text != source.text)
    if changed:
        assert [each.text for each in snippets(fixed.source)] == [
            f"#!/bin/bash\n#SBATCH -N 2\n#SBATCH --time=5\nsrun ./a {SLOT}\nsrun ./b\n"
        ]


def test_no_repair_writes_what_python_reads_otherwise() -> None:
    for program in (
        'w("#!/bin/bash\\n#SBATCH\\t-N=2\\n./a\\n")',  # the edit would touch an escape
        'w("#!/bin/bash\\n#SBATCH -N" "=2\\n./a\\n")',  # two literals
    ):
        source = Source(program, "a.py")
        after = fix_document(source, ALL, unsafe=True)
        compile(after.source.text, "a.py", "exec")
        (found,) = snippets(after.source)
        assert found.text.endswith("-N 2\n./a\n")


def test_comments_that_ignore() -> None:
    program = 'open("a.sh", "w").write(f"""#!/bin/bash\n#SBATCH -N=2\nsrun ./{x}\n""")\n'
    source = Source(program, "a.py")
    found = inspect_document(source, ALL).diagnostics
    after = document_with_ignores(source, ALL, found, "why")
    assert "# sbatchlint: ignore[short-option-equals] why\n#SBATCH -N=2" in after.text
    assert inspect_document(after, ALL).diagnostics == []


def test_a_program_that_is_not_read_says_why(tmp_path: Path) -> None:
    reasons = {
        'print "#!/bin/bash"; "#SBATCH"\n': "Python cannot parse line 1",
        "x = 1\n": "it has no directive and no command of Slurm",
        'f("sbatch")\n': "it has none that could be read",
    }
    for text, reason in reasons.items():
        assert reason in read_document(Source(text, "a.py")).reason
    for name, text in zip("abc", reasons):
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "job.sh").write_text("#!/bin/bash\n#SBATCH -N 2\nsrun ./a\n")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sbatchlint", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "SBATCHLINT_NO_CACHE": "1"}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    one = run("c.py")
    assert one.stderr == "note: no script was read in c.py: it has none that could be read\n"
    assert one.stdout.startswith("no findings in 0 scripts") and one.returncode == 0
    assert run("-q", "c.py").stderr == ""
    assert run("a.py", "b.py").stderr == "note: no script was read in 2 documents (-v says why)\n"
    both = run("a.py", "job.sh")
    assert both.stderr == "" and both.stdout.startswith("no findings in 1 script")
    assert "note: no script was read in a.py: Python cannot parse line 1" in run("-v", "a.py", "job.sh").stderr


def test_a_folder_without_scripts_says_what_could_be_read(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text('w("#!/bin/bash\\n#SBATCH -N 2\\n./a\\n")\n')
    (tmp_path / "other.py").write_text("x = 1\n")
    command = [sys.executable, "-m", "sbatchlint", "."]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SBATCHLINT_NO_CACHE": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == (
        "note: no batch script found (2 other files); a batch script is a file with an #SBATCH line;"
        " 1 document with such lines can be read: name them, or `include` them in the settings\n"
    )


def test_the_example_of_the_documentation() -> None:
    page = (ROOT / "docs" / "documents.md").read_text()
    example = page.partition("```python\n")[2].partition("```")[0]
    (found,) = snippets(Source(example, "a.py"))
    assert found.text == f"#!/bin/bash\n#SBATCH --nodes={SLOT}\n#SBATCH -t=60\n#SBATCH --job-name={SLOT}\nsrun {SLOT}"
    assert {each.code for each in inspect_document(Source(example, "a.py"), ALL).diagnostics} >= {"SB107"}


def test_scripts_load_nothing_of_this(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("#!/bin/bash\n#SBATCH -N=2\nsrun a\n")
    program = "import sys; from sbatchlint.cli import main; main(['job.sh', '--no-cache']); print(*sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    loaded = done.stdout.rpartition("\n")[0].split()
    assert "sbatchlint.engine" in loaded, done.stderr
    assert not [each for each in loaded if each.startswith("sbatchlint.source.documents") or each in ("ast", "yaml")]


# --- what Python itself makes of programs ----------------------------------------------------------

BODIES = ["#SBATCH -N=2\n", "srun ./a", "\n", "  x", "$HOME ", "#SBATCH --mem=4X\n", "é\U0001f680", "A", "\tb\n", "'q'"]


def _literal(parts: list[str], kind: str) -> str:
    """A literal of Python for a text, in which `§` is a slot."""
    text = "".join(parts)
    if kind == "f":
        return "f" + repr(text.replace("{", "{{").replace("}", "}}")).replace("§", "{v}")
    if kind == "triple":
        plain = text.replace("\\", "\\\\").replace("{", "{{").replace("}", "}}")
        return 'f"""' + plain.replace("§", "{v!s}") + '"""'
    if kind == "%":
        return "(" + repr(text.replace("%", "%%")).replace("§", "%s") + f" % ({'v,' * text.count('§')}))"
    if kind == "format":
        return repr(text.replace("{", "{{").replace("}", "}}")).replace("§", "{0}") + ".format(v)"
    return " ".join(repr(part) for part in parts if part != "§") or "''"


LITERALS = st.builds(
    _literal,
    st.lists(st.sampled_from([*BODIES, "§"]), min_size=1, max_size=5),
    st.sampled_from(["f", "triple", "%", "format", "row"]),
)
STEPS = st.one_of(
    st.builds("t += {}".format, LITERALS),
    st.builds("t = t + {} + {}".format, LITERALS, LITERALS),
    st.builds("if c: t += {}".format, LITERALS),
    st.builds("if not c: t += {0}\nelse: t += {1}".format, LITERALS, LITERALS),
    st.builds("for i in range(2): t += {}".format, LITERALS),
    st.builds("L = [t, {0}]\nL.append({1})\nL += [{0}]\nt = '\\n'.join(L)".format, LITERALS, LITERALS),
    st.builds("t = f'{{t}}{{v}}'\nt += {}".format, LITERALS),
    st.builds("F = io.StringIO()\nF.write(t)\nprint({0}, {1}, file=F)\nt = F.getvalue()".format, LITERALS, LITERALS),
    st.builds("x = {}\nt = f'{{t}}{{x}}'".format, LITERALS),
    st.just("t = textwrap.dedent(t)"),
    st.just("t = t.strip() + '\\n'"),
    st.just("t = t.replace('é', v)"),
    st.just("t = '\\n'.join(line.rstrip() for line in t.splitlines())"),
)  # fmt: skip


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(STEPS, max_size=6), st.booleans(), st.booleans())
def test_what_is_read_is_what_python_writes(steps: list[str], c: bool, inside: bool) -> None:
    """A script that is read as a whole is what the program writes, whatever stands in its slots."""
    start = 't = "#!/bin/bash\\n#SBATCH -J x\\n"'
    lines = "\n".join([start, *steps, 'w(t + "srun last\\n")'])
    program = f"def f(v, c):\n{indent(lines, '    ')}\nf(v, c)\n" if inside else f"v = str(v)\nc = bool(c)\n{lines}\n"
    written: list[str] = []
    exec(program, {"w": written.append, "textwrap": textwrap, "io": io, "v": "V W", "c": c})
    source = Source(program, "a.py")
    found = [each for each in snippets(source) if each.text.endswith("srun last\n")]
    for snippet in found:
        for index, character in enumerate(snippet.text):
            place = source.slice(snippet.span(Span(index, index + 1)))
            assert character in (SLOT, "\n") or place == character or len(place) > 1, (program, place, character)
        if not snippet.is_partial:
            pattern = ".*".join(map(re.escape, snippet.text.split(SLOT)))
            assert re.fullmatch(pattern, written[0], re.DOTALL), (program, snippet.text, written[0])
    assert len(found) == 1 or "splitlines" in program or "strip" in program, program
    fixed = fix_document(source, ALL, unsafe=True)
    compile(fixed.source.text, "a.py", "exec")
    assert fixed.inspection.faults == []
