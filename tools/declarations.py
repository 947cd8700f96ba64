"""Declarations for Cython, made from the headers of the loops in C.

For `_ext/<folder>/<word>.h` this is the module `mlcore._ext.<folder>.<word>_h` with its enums and
structs. Of its table of loops, each member is a function or a value by its own name; members of
both `f` and `d` are ``<name>_f`` and ``<name>_d``, and a function of them is also ``<name>`` for
either precision, which one argument tells: `like`, the first, where no other does.
"""

import keyword
import re
from pathlib import Path

_TYPES = {"ptrdiff_t": "Py_ssize_t"}
_FUNCTION = re.compile(r"(?P<type>[\w *]+?)\s*\(\*(?P<name>\w+)\)\s*\((?P<arguments>[^()]*)\)$")
_INLINE = re.compile(r"^static inline ([\w ]+?[ *]+)(\w+)\(([^)]*)\)", re.MULTILINE)
_STRUCT = re.compile(r"^typedef struct \{(.*?)^\} (\w+);", re.DOTALL | re.MULTILINE)
_INTEGERS = re.compile(r"\b(u?int(?:8|16|32|64|ptr)_t)\b")


def declarations(header: Path, root: Path) -> str:
    """Return the text of the .pxd file of a header below `root`."""
    text = re.sub(r"/\*.*?\*/", " ", header.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = text.replace("\\\n", " ")
    macros = {
        name: (parameters.replace(" ", "").split(","), body)
        for name, parameters, body in re.findall(
            r"^#define (\w+)\(([^)]*)\)(.*\(\*.*)$", text, re.MULTILINE
        )
    }
    included = re.findall(r'^#include "(.+)\.h"', text, re.MULTILINE)
    code = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    table = f"{header.stem}_table"
    lines, wrappers = [], []
    for names in re.findall(r"^enum \{(.*?)\}", code, re.DOTALL | re.MULTILINE):
        words = re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", names)
        lines += ["    enum:", *(f"        {word}" for word in words)]
    inline = {
        name: (_cython(kind), name, [_split(one) for one in parameters.split(",")])
        for kind, name, parameters in _INLINE.findall(code)
    }
    for kind, name, arguments in inline.values():
        lines.append(f"    {kind} {name}({', '.join(one for one, _ in arguments)})")
        if name.endswith("_f") and name[:-1] + "d" in inline:
            double = inline[name[:-1] + "d"]
            wrappers.append(_wrapper((kind, name[:-2], arguments), double))
    for body, name in _STRUCT.findall(code):
        if name == f"{header.stem}_loops":
            members, functions = _of_table(body, macros, table)
            lines += members
            wrappers += functions
        else:
            lines += [f"    ctypedef struct {name}:", *_fields(body)]
    body = "\n".join(lines) + "\n" + "".join(wrappers)
    place = header.relative_to(root).as_posix()
    head = [f'"""Declarations of {place}."""', "from cython cimport floating"]
    integers = sorted({*_INTEGERS.findall(body)})
    head += [f"from libc.stdint cimport {', '.join(integers)}"] if integers else []
    for other in included:
        structs = _STRUCT.findall((root / f"{other}.h").read_text(encoding="utf-8"))
        used = [name for _, name in structs if re.search(rf"\b{name}\b", body)]
        if used:
            head.append(f"from mlcore._ext.{other.replace('/', '.')}_h cimport {', '.join(used)}")
    return "\n".join([*head, "", f'cdef extern from "{place}" nogil:', body])


def _of_table(body, macros, table):
    """Return the lines of the members of a table, and of the functions for either precision."""
    lines, wrappers = [], []
    both = {
        suffix: _members(_expanded(inner, macros))
        for inner, suffix in re.findall(r"struct \{(.*?)\} ([fd]);", body, re.DOTALL)
    }
    for suffix, members in both.items():
        lines += [_alias(member, f"{table}->{suffix}.", f"_{suffix}") for member in members]
    for single, double in zip(*both.values(), strict=True) if both else ():
        if single[2] is not None:
            wrappers.append(_wrapper(single, double))
    rest = re.sub(r"struct \{.*?\} [fd];", "", body, flags=re.DOTALL)
    lines += [_alias(member, f"{table}->", "") for member in _members(_expanded(rest, macros))]
    return lines, wrappers


def _expanded(body, macros):
    for name, (parameters, text) in macros.items():
        for arguments in re.findall(rf"\b{name}\(([\w, ]*)\)", body):
            expanded = text
            for parameter, argument in zip(parameters, arguments.split(","), strict=True):
                expanded = re.sub(rf"\b{parameter}\b", argument.strip(), expanded)
            body = body.replace(f"{name}({arguments})", expanded + ";", 1)
    return body


def _members(body):
    """Return type, name and arguments, None for a value, of each member of a struct."""
    found = []
    for statement in filter(None, (part.strip() for part in body.split(";"))):
        function = _FUNCTION.match(statement)
        if function:
            pairs = [_split(one) for one in function["arguments"].split(",")]
            found.append((_cython(function["type"]), function["name"], pairs))
            continue
        statement = " ".join(statement.split())
        kind, names = re.match(r"((?:const )?\w+)\s+(.*)", statement).groups()
        for one in names.split(","):
            stars, name = re.match(r"\s*(\**)\s*(.+)", one).groups()
            found.append((_cython(kind) + stars, name, None))
    return found


def _fields(body):
    """Return the lines of a struct; a field whose name is a word of Python's is left out."""
    lines = []
    for kind, name, arguments in _members(body):
        if arguments is not None:
            types = ", ".join(kind for kind, _ in arguments)
            lines.append(f"        {kind} (*{name})({types}) noexcept nogil")
        elif not keyword.iskeyword(name):
            lines.append(f"        {kind} {name}")
    return lines


def _alias(member, path, suffix):
    kind, name, arguments = member
    if arguments is None:
        return f'    const {kind} {name}{suffix} "{path}{name}"'
    types = ", ".join(kind for kind, _ in arguments)
    return f'    {kind} {name}{suffix} "{path}{name}"({types})'


def _wrapper(single, double):
    """Return a function that calls the one of two of the precision of its arguments."""
    (kind, name, arguments), (other_kind, _, others) = single, double
    declared = [
        (one if one == other else one.replace("float", "floating"), word)
        for (one, word), (other, _) in zip(arguments, others, strict=True)
    ]
    if not any("floating" in kind for kind, _ in declared):
        declared = [("const floating*", "like"), *declared]
    parameters = ", ".join(f"{kind} {word}" for kind, word in declared)
    kind = kind if kind == other_kind else kind.replace("float", "floating")
    call = ", ".join(word for _, word in arguments)
    back = "" if kind == "void" else "return "
    return f"""

cdef inline {kind} {name}({parameters}) noexcept nogil:
    if floating is float:
        {back}{name}_f({call})
    else:
        {back}{name}_d({call})
"""


def _split(argument):
    """Return type and name of an argument."""
    kind, name = re.match(r"(.*?)(\w+)$", " ".join(argument.split())).groups()
    return _cython(kind), f"{name}_" if keyword.iskeyword(name) else name


def _cython(kind):
    kind = kind.replace("restrict", "").strip()
    for name, other in _TYPES.items():
        kind = re.sub(rf"\b{name}\b", other, kind)
    return re.sub(r"\s*\*\s*", "*", kind)


def write_declarations(root: Path, output: Path) -> list[Path]:
    """Write what has changed of the declarations that Cython files below `root` ask for.

    Returns
    -------
    paths : list of Path
        The files, in a package `mlcore._ext` in `output`.
    """
    sources = [path.read_text(encoding="utf-8") for path in root.rglob("*.p[xy][dx]")]
    paths = []
    for place in sorted({name for text in sources for name in _asked_for(text)}):
        folder = (output / "mlcore" / "_ext" / place).parent
        folder.mkdir(parents=True, exist_ok=True)
        for package in (folder, *folder.parents):
            if package.is_relative_to(output / "mlcore"):
                (package / "__init__.pxd").touch()
        path = output / "mlcore" / "_ext" / f"{place}_h.pxd"
        text = declarations(root / f"{place}.h", root)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def _asked_for(text):
    """Return the headers whose declarations a Cython file takes, as <folder>/<word>."""
    modules = re.findall(r"^from mlcore\._ext\.([\w.]+)_h cimport", text, re.MULTILINE)
    inside = re.findall(r"^from mlcore\._ext\.([\w.]+) cimport (\w+)_h\b", text, re.MULTILINE)
    return [name.replace(".", "/") for name in modules + [".".join(pair) for pair in inside]]
