"""Makes the sources of the documentation site: the pages of docs/, the gallery of paper/, and the references of commands and Python.

    python3 tools/make_site.py --program target/debug/ebbing [--out target/site] [--math]

The references are what the program's own --help and the package's own docstrings say, so they cannot differ from them: run it
with a Python that has the package installed. Every link, picture and anchor of the site is checked, and so is that every page is
in the summary and has a title. With --math formulas become MathML (needs latex2mathml), which browsers show without a script.
`mdbook build` then makes the site; `bash ci/extra book` does all of it.
"""

import argparse
import inspect
import pathlib
import re
import shutil
import subprocess
import sys
import types

TOP = pathlib.Path(__file__).resolve().parent.parent


def help_of(program, words):
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True)
    return done.stdout.rstrip()


def commands_in(text):
    """The names in the section `Commands:` of a help text."""
    section = re.search(r"^Commands:\n((?:  .*\n|\n)*)", text + "\n", re.MULTILINE)
    return re.findall(r"^  ([a-z][a-z-]*)", section[1], re.MULTILINE) if section else []


def command_reference(program):
    parts = ["# Commands\n", "What `--help` says of every command. Every number that can be infinite takes `inf`.\n"]

    def add(words):
        text = help_of(program, words)
        parts.append(f"{'#' * min(2 + len(words[1:]), 3)} {' '.join(['ebbing', *words])}\n\n```text\n{text}\n```\n")
        for name in commands_in(text):
            add([*words, name])

    add([])
    if len(parts) < 12:
        sys.exit(f"only {len(parts) - 2} commands found in the help of {program}")
    return "\n".join(parts)


def fenced(doc):
    """A docstring with its examples as code."""
    out, inside = [], False
    for line in inspect.cleandoc(doc).splitlines():
        begins = line.lstrip().startswith(">>>")
        if begins and not inside:
            out.append("```python")
            inside = True
        elif inside and not line.strip():
            out.append("```")
            inside = False
        out.append(line)
    return "\n".join(out + (["```"] if inside else []))


def signature(name, thing):
    try:
        signature = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return name
    signature = re.sub(r"\bself, |\(self\)", lambda m: "()" if m[0] == "(self)" else "", signature)
    # Annotations are kept as text, which Python shows in quotes.
    signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", signature)
    return f"{name}{signature}"


def described(name, thing, level):
    """A function or class under a heading, with its public members."""
    doc = inspect.getdoc(thing)
    if not doc:
        sys.exit(f"{name} has no docstring")
    parts = [f"{'#' * level} {name.rsplit('.', 1)[-1]}\n"]
    # Results are made by the package, not by users: only classes with a constructor of their own show it.
    if not inspect.isclass(thing) or "__init__" in vars(thing):
        parts.append(f"```python\n{signature(name, thing)}\n```\n")
    parts.append(fenced(doc) + "\n")
    if inspect.isclass(thing):
        for member, value in vars(thing).items():
            if member.startswith("_") or not inspect.getdoc(value):
                continue
            if isinstance(value, property):
                parts.append(f"- `.{member}`: {' '.join(inspect.getdoc(value).split())}")
            elif isinstance(value, (classmethod, staticmethod)) or inspect.isroutine(value):
                call = signature(f".{member}", getattr(thing, member))
                parts.append(f"- `{call}`: {' '.join(inspect.getdoc(value).split('>>>')[0].split())}")
        parts.append("")
    return "\n".join(parts)


def python_reference():
    import importlib

    import ebbing

    parts = ["# Python\n", "What the package's docstrings say. `import ebbing`; CPython 3.10 or later.\n"]
    parts.append(fenced(ebbing.__doc__) + "\n")
    modules = []
    for name in ebbing.__all__:
        thing = getattr(ebbing, name)
        if isinstance(thing, types.ModuleType):
            modules.append(name)
        elif callable(thing):
            parts.append(described(f"ebbing.{name}", thing, 2))
    for name in [*modules, "sklearn", "dask"]:
        try:
            module = importlib.import_module(f"ebbing.{name}")
        except ImportError as error:
            sys.exit(f"ebbing.{name} needs a package that is not here: {error}")
        parts.append(f"## ebbing.{name}\n\n{fenced(module.__doc__ or '')}\n")
        listed = getattr(module, "__all__", ())
        mine = lambda n, v: not n.startswith("_") and (n in listed or getattr(v, "__module__", "") == module.__name__)
        own = [n for n, v in vars(module).items() if mine(n, v)]
        parts += [described(f"ebbing.{name}.{n}", getattr(module, n), 3) for n in own if callable(getattr(module, n))]
    return "\n".join(parts)


def with_mathml(text, page):
    from latex2mathml.converter import convert

    def formula(latex, display):
        try:
            made = convert(latex.replace("\\lt", "<").replace("\\gt", ">"), display="block" if display else "inline")
        except Exception as error:
            sys.exit(f"{page}: the formula {latex!r} cannot be shown: {error!r}")
        # Markdown must find nothing of its own in it.
        for letter in "*_|`[]\\":
            made = made.replace(letter, f"&#{ord(letter)};")
        return made

    text = re.sub(r"```math\n(.*?)```", lambda m: formula(" ".join(m[1].split()), True), text, flags=re.DOTALL)
    pieces = re.split(r"(```.*?```|`[^`\n]*`)", text, flags=re.DOTALL)
    for k in range(0, len(pieces), 2):
        pieces[k] = re.sub(r"(?<![\\\w])\$([^$\n]+)\$", lambda m: formula(m[1].replace("\\|", "|"), False), pieces[k])
    return "".join(pieces)


def on_the_site(text):
    """A page with its links between docs and paper, which lie side by side in the repository, and on the site paper in docs."""
    return re.sub(r"\]\(((?:\.\./)*)\.\./(paper|docs)/", lambda m: f"]({m[1]}{dict(paper='paper', docs='..')[m[2]]}/", text)


def slug(heading):
    """The anchor of a heading, as mdBook makes it."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", lambda m: m[1] or "", heading).strip().lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", plain))


def broken(source):
    """Everything that is wrong with the links of the site."""
    pages = sorted(source.rglob("*.md"))
    texts = {page: re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL) for page in pages}
    anchors = {page: {slug(h) for h in re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)} for page in pages}
    listed = set()
    for page, text in texts.items():
        if page.name != "SUMMARY.md" and not page.read_text().startswith("# "):
            yield f"{page.name} does not begin with a title"
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" in target:
                continue
            path, _, anchor = target.partition("#")
            leads = (page.parent / path).resolve() if path else page
            if not leads.is_file() or not leads.is_relative_to(source):
                yield f"{page.name}: {target} leads nowhere on the site"
            elif anchor and leads.suffix == ".md" and anchor not in anchors[leads]:
                yield f"{page.name}: {leads.name} has no heading #{anchor}"
            if page.name == "SUMMARY.md":
                listed.add(leads)
    for page in pages:
        if page.name != "SUMMARY.md" and page not in listed:
            yield f"{page.name} is not in the summary"


def main():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--program", required=True, help="the ebbing program")
    parse.add_argument("--out", type=pathlib.Path, default=TOP / "target/site")
    parse.add_argument("--math", action="store_true", help="formulas as MathML")
    asked = parse.parse_args()
    source = asked.out.resolve()
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(TOP / "docs", source, ignore=shutil.ignore_patterns("*.html"))
    shutil.copytree(TOP / "paper/reproduction", source / "paper/reproduction", ignore=shutil.ignore_patterns("cells"))
    shutil.copy(TOP / "paper/reproduction.md", source / "paper")
    for page in source.rglob("*.md"):
        page.write_text(on_the_site(page.read_text()))
    (source / "reference").mkdir()
    (source / "reference/commands.md").write_text(command_reference(asked.program))
    (source / "reference/python.md").write_text(python_reference())
    wrong = list(broken(source))
    if asked.math:
        for page in source.rglob("*.md"):
            page.write_text(with_mathml(page.read_text(), page.name))
    for problem in wrong:
        print(problem, file=sys.stderr)
    pages = len(list(source.rglob("*.md"))) - 1
    print(f"{pages} pages in {asked.out}, {len(wrong)} broken links")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
