# SPDX-License-Identifier: Apache-2.0
"""Reads .msg definitions, and writes them as the JSON from which the library makes a type.

The library computes offsets and sizes, and refuses a hash that does not follow from the definition; so what is read
differently here than by simgen is an error, and never another layout.
"""
import json
import re

KINDS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "time",
         "duration", "string")
DECLARATION = re.compile(r"(?P<base>[A-Za-z][\w/]*)(?:<=(?P<max>\d+))?(?:\[(?P<bound><=)?(?P<count>\d*)\])?"
                         r"\s+(?P<name>[A-Za-z]\w*)\s*(?:=\s*(?P<value>.*)|(?P<default>\s\S.*))?$", re.ASCII)
MASK = (1 << 64) - 1


def _hash(text):
    h = 0xcbf29ce484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001b3 & MASK
    h = (h ^ h >> 33) * 0xff51afd7ed558ccd & MASK
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53 & MASK
    return (h ^ h >> 33) or 1


def _value(kind, text):
    if kind == "string":
        return text[1:-1] if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0] else text
    if kind == "bool":
        if text.lower() not in ("true", "false", "0", "1"):
            raise ValueError("'%s' is not a bool" % text)
        return "true" if text.lower() in ("true", "1") else "false"
    if kind == "float32" or kind == "float64":
        return "%.17g" % float(text)
    return str(int(text, 16 if text[:2].lower() == "0x" else 10))


def _strip(line):
    """The declaration of a line without its comment; a # within the quotes of a value is no comment."""
    quoted = re.match(r"([^#=]*=\s*)(\"[^\"]*\"|'[^']*')\s*(#.*)?$", line)
    return (quoted.group(1) + quoted.group(2)) if quoted else line.split("#", 1)[0].rstrip()


def _field(match, package, find, nested):
    """One field as JSON, and its line of the text that the hash is of."""
    base, count, bound = match["base"], match["count"], match["bound"]
    array = None if count is None else "bounded" if bound else "fixed" if count else "variable"
    field, kind = {"name": match["name"], "type": base}, base
    if base not in KINDS:
        if match["default"]:
            raise ValueError("unexpected '%s': a nested type has no default" % match["default"].strip()[:60])
        base = base.replace("/msg/", "/")  # the long form of ROS 2
        found = find(base if "/" in base else "%s/%s" % (package, base))
        nested.append(found)
        field["type"], kind = found.name, "%s#%016x" % (found.name, found.hash)
    if match["max"]:
        field["max"] = int(match["max"])
        kind += "<=" + str(int(match["max"]))
    if array:
        field["array"] = array
        if count:
            field["count"] = int(count)
        kind += "[%s%s]" % (bound or "", int(count) if count else "")
    return field, "%s %s\n" % (kind, match["name"])


def _describe(found, done, types):
    """Adds a nested type, and first those nested in it, each once."""
    if found.name in done:
        return
    done.add(found.name)
    for field in found.fields.values():
        if field.type is not None:
            _describe(field.type, done, types)
    types.append(_table(found))


def _table(found):
    arrays = (None, "fixed", "bounded", "variable")
    fields = []
    for f in found.fields.values():
        one = {"name": f.name, "type": f.type.name if f.type is not None else KINDS[f.kind - 1]}
        if arrays[f.array]:
            one["array"] = arrays[f.array]
        if f.count:
            one["count"] = f.count
        if f.string_max:
            one["max"] = f.string_max
        fields.append(one)
    return {"name": found.name, "constants": found.raw_constants, "fields": fields}


def to_json(name, text, find):
    """The JSON of the type `name` that `text` defines; find(name) returns the Type of a field that is a message."""
    package = name.split("/")[0]
    constants, fields, lines, nested = [], [], [], []
    for number, line in enumerate(text.splitlines(), 1):
        line = _strip(line.strip())
        if not line:
            continue
        match = DECLARATION.match(line)
        try:
            if not match:
                raise ValueError("'%s' is not a field and not a constant" % line[:60])
            if match["value"] is not None:
                value = _value(match["base"], match["value"].strip())
                constants.append(({"name": match["name"], "type": match["base"], "value": value},
                                  "const %s %s %s\n" % (match["base"], match["name"], value)))
            else:
                field, described = _field(match, package, find, nested)
                fields.append(field)
                lines.append(described)
        except (ValueError, OverflowError) as e:
            raise ValueError("%s.msg:%d: %s" % (name, number, e)) from None
    types, done = [], set()
    for found in nested:
        _describe(found, done, types)
    types.append({"name": name, "constants": [k for k, _ in constants], "fields": fields})
    digest = _hash("sim 1 %s\n" % name + "".join(k for _, k in constants) + "".join(lines))
    return json.dumps({"sim_type": 1, "name": name, "hash": "%016x" % digest, "types": types})
