"""The settings of docs/editors.md, in the editors themselves where they are installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from conftest import ROOT
from test_server import JOB

pytestmark = pytest.mark.slow
TEXT = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")


def fence(kind: str) -> str:
    """The first fence of a kind."""
    found = re.search(rf"^```{kind}\n(.*?)^```", TEXT, re.M | re.S)
    assert found is not None
    return found[1]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An empty home, with a script, and a `sbatchlint` in PATH."""
    program = tmp_path / "bin" / "sbatchlint"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' -m sbatchlint \"$@\"\n")
    program.chmod(0o755)
    (tmp_path / "job.sbatch").write_text(JOB)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG", "NVIM", "VIM"))}
    return kept | {"HOME": str(tmp_path), "PATH": f"{program.parent}:{os.environ['PATH']}", "TERM": "dumb"}


@pytest.mark.skipif(shutil.which("nvim") is None, reason="there is no nvim")
def test_neovim(tmp_path: Path, environment: dict[str, str]) -> None:
    """Its built-in client shows the findings, makes the preferred fix, and has none left."""
    (tmp_path / "init.lua").write_text(fence("lua"))
    (tmp_path / "try.lua").write_text(
        """
        local told = {}
        local function wait(count)
          vim.wait(60000, function() return #vim.diagnostic.get(0) == count end, 50)
        end
        wait(1)
        for _, each in ipairs(vim.diagnostic.get(0)) do
          table.insert(told, { line = each.lnum, column = each.col, code = each.code, source = each.source })
        end
        local document = vim.lsp.util.make_text_document_params()
        local here = { textDocument = document, position = { line = 1, character = 12 } }
        local answer = vim.lsp.buf_request_sync(0, "textDocument/hover", here, 60000)
        for _, each in pairs(answer) do table.insert(told, each.result.contents.value) end
        local all = { start = { line = 0, character = 0 }, ["end"] = { line = 99, character = 0 } }
        local asked = { textDocument = document, range = all, context = { diagnostics = {} } }
        for id, each in pairs(vim.lsp.buf_request_sync(0, "textDocument/codeAction", asked, 60000)) do
          for _, action in ipairs(each.result) do
            if action.isPreferred then vim.lsp.util.apply_workspace_edit(action.edit, "utf-16") end
          end
        end
        wait(0)
        table.insert(told, #vim.diagnostic.get(0))
        table.insert(told, vim.api.nvim_buf_get_lines(0, 1, 2, false)[1])
        vim.fn.writefile({ vim.json.encode(told) }, "told.json")
        vim.cmd("qa!")
        """
    )
    command = ["nvim", "--headless", "-u", "init.lua", "-c", "set filetype=sh", "job.sbatch", "-c", "luafile try.lua"]
    subprocess.run(command, cwd=tmp_path, env=environment, timeout=120, check=True, stdin=subprocess.DEVNULL)
    finding, hover, left, line = json.loads((tmp_path / "told.json").read_text())
    assert finding == {"line": 1, "column": 18, "code": "SB301", "source": "sbatchlint"}
    assert "**nodes: 2**" in hover
    assert (left, line) == (0, "#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=4")


@pytest.mark.skipif(shutil.which("emacs") is None, reason="there is no emacs")
def test_emacs(tmp_path: Path, environment: dict[str, str]) -> None:
    """Eglot shows the findings through Flymake."""
    (tmp_path / "init.el").write_text(fence("lisp"))
    (tmp_path / "try.el").write_text(
        """
        (require 'eglot nil t)
        (unless (featurep 'eglot) (kill-emacs 7))
        (find-file "job.sbatch")
        (call-interactively #'eglot)
        (let ((found nil) (left 600))
          (while (and (not found) (> left 0))
            (setq left (1- left))
            (accept-process-output nil 0.1)
            (setq found (flymake-diagnostics)))
          (princ (mapconcat #'flymake-diagnostic-text found "\\n")))
        (kill-emacs 0)
        """
    )
    command = ["emacs", "--batch", "-f", "package-initialize", "-l", "init.el", "-l", "try.el"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, timeout=120, capture_output=True, text=True)
    if done.returncode == 7:
        pytest.skip("there is no eglot")
    assert "4 torchrun × 4 workers" in done.stdout, done.stderr


@pytest.mark.skipif(shutil.which("vim") is None, reason="there is no vim")
def test_vim(tmp_path: Path, environment: dict[str, str]) -> None:
    """ALE shows the findings."""
    if not list(Path("/usr/share/vim/vimfiles/pack").glob("*/opt/ale")):
        pytest.skip("there is no ALE")
    (tmp_path / "vimrc").write_text(
        "set nocompatible\nfiletype plugin on\npackadd! ale\nlet g:ale_linters = {'sh': ['sbatchlint']}\n"
        + fence("vim")
    )
    (tmp_path / "try.vim").write_text(
        """
        let left = 600
        while left > 0 && empty(get(get(g:ale_buffer_info, bufnr(''), {}), 'loclist', []))
          let left -= 1
          sleep 100m
        endwhile
        let found = copy(g:ale_buffer_info[bufnr('')].loclist)
        call writefile(map(found, {_, each -> each.lnum . ' ' . each.text}), 'told')
        qa!
        """
    )
    command = ["vim", "-N", "-u", "vimrc", "-i", "NONE", "-T", "dumb", "--not-a-term", "job.sbatch", "-S", "try.vim"]
    subprocess.run(
        command, cwd=tmp_path, env=environment, timeout=120, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    assert (tmp_path / "told").read_text().startswith("2 4 torchrun × 4 workers")
